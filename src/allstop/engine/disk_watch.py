"""Calls off work when its workspace grows too large or the disk is nearly full."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import anyio

from allstop.core.moves import FailureKind
from allstop.engine.deadlines import Deadlines
from allstop.ports import Workspaces

Look: TypeAlias = Callable[[str], Awaitable[str]]
"""Returns why work in a workspace has to end; "" if it may continue."""


class DiskWatch:
    """One watch for all workspaces; it sleeps while no work is running."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._at_work: dict[Deadlines, tuple[str, Look]] = {}
        self._begun = anyio.Event()

    @contextmanager
    def watched(self, workspace: str, deadlines: Deadlines, look: Look) -> Iterator[None]:
        """Call off the work in the block if its workspace grows too large."""
        self._at_work[deadlines] = (workspace, look)
        self._begun.set()
        try:
            yield
        finally:
            del self._at_work[deadlines]

    async def keep(self) -> None:
        """Check the workspaces until cancelled."""
        while True:
            if not self._at_work:
                self._begun = anyio.Event()
                await self._begun.wait()
            await anyio.sleep(self._workspaces.check_every_s)
            for deadlines, (workspace, look) in list(self._at_work.items()):
                why = await look(workspace)
                if why and deadlines in self._at_work:
                    deadlines.call_off(FailureKind.OUT_OF_ROOM, why)
