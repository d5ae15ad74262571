"""Calls off work when its workspace grows too large or the disk is nearly full."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import anyio

from allstop.core.ids import RunId
from allstop.core.moves import FailureKind
from allstop.engine.deadlines import Deadlines
from allstop.ports import Workspaces

Look: TypeAlias = Callable[[str], Awaitable[str]]
"""Returns why work in a workspace has to end; "" if it may continue."""


class DiskWatch:
    """One watch for all workspaces; it sleeps while no work is running."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._at_work: dict[RunId, tuple[str, Look, Deadlines]] = {}
        self._begun = anyio.Event()

    @contextmanager
    def watched(
        self, run: RunId, workspace: str, deadlines: Deadlines, look: Look
    ) -> Iterator[None]:
        """Call off the work in the block if its workspace grows too large."""
        self._at_work[run] = (workspace, look, deadlines)
        self._begun.set()
        try:
            yield
        finally:
            del self._at_work[run]

    async def keep(self) -> None:
        """Check the workspaces until cancelled."""
        while True:
            if not self._at_work:
                self._begun = anyio.Event()
                await self._begun.wait()
            await anyio.sleep(self._workspaces.check_every_s)
            for run, entry in list(self._at_work.items()):
                workspace, look, deadlines = entry
                why = await look(workspace)
                if why and self._at_work.get(run) is entry:
                    deadlines.call_off(FailureKind.OUT_OF_ROOM, why)
