"""Looks, while turns are under way, whether their workspaces outgrow what they may hold."""

from __future__ import annotations

import anyio

from allstop.core.ids import RunId
from allstop.core.moves import FailureKind
from allstop.loop.patience import Patience
from allstop.ports import Workspaces


class Space:
    """One watch for all turns; while there is none, nothing is looked at."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._turns: dict[RunId, tuple[str, Patience]] = {}
        self._begun = anyio.Event()

    def begin(self, run: RunId, workspace: str, patience: Patience) -> None:
        self._turns[run] = (workspace, patience)
        self._begun.set()

    def end(self, run: RunId) -> None:
        self._turns.pop(run, None)

    async def keep(self) -> None:
        """Runs until cancelled: while it does, a turn that takes too much room is ended."""
        while True:
            if not self._turns:
                self._begun = anyio.Event()
                await self._begun.wait()
            await anyio.sleep(self._workspaces.look_every_s)
            for run, (workspace, patience) in list(self._turns.items()):
                why = await self._workspaces.outgrown(workspace)
                if why and run in self._turns and self._turns[run][1] is patience:
                    patience.call_off(FailureKind.OUT_OF_ROOM, why)
