"""The engine of a worker: takes runs that other processes opened, and drives each by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio

from allstop.core.helm import STOPPED
from allstop.core.ids import RunId
from allstop.core.moves import Outcome
from allstop.engine.local import LocalEngine
from allstop.ports import Dispatch, HeldError, Live, StoreTroubleError

LOOK_S = 2.0
"""How often the queue is looked at in case that nobody told of a new run."""


class Lane(NamedTuple):
    """How many runs of a kind a worker drives at once, and what it offers them."""

    kind: str
    slots: int
    offers: frozenset[str]


class WorkerEngine(LocalEngine):
    """Each of its runs has a claim of its own; the run above it is driven elsewhere."""

    def __init__(self, *, dispatch: Dispatch, lanes: Sequence[Lane], **more: Any) -> None:
        """`more` is what the base class takes."""
        super().__init__(**more)
        self._dispatch = dispatch
        self.lanes = lanes
        self._told = anyio.Event()
        self.drains = False
        self.tell_of: Callable[[RunId, str], None] = lambda run, what: None
        """Called when it begins to drive a run, and when it drives it no more."""

    def claim_of(self, run: RunId) -> RunId:
        return run

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[LocalEngine]:
        async with super().serving(), anyio.create_task_group() as group:
            group.start_soon(self._keep_taking)
            group.start_soon(self._note_changes)
            yield self
            group.cancel_scope.cancel()

    def tell(self) -> None:
        """There may be something to take."""
        self._told.set()

    def drain(self, *, on: bool = True) -> None:
        """Take no more runs, or take them again."""
        self.drains = on
        self._told.set()

    async def drained(self) -> None:
        """Wait until a worker that is drained has nothing at work."""
        while not self.drains or any(self.at_work(lane.kind) for lane in self.lanes):
            with anyio.move_on_after(LOOK_S):
                await self._next_change()

    def at_work(self, kind: str) -> list[RunId]:
        """The runs of this kind that do not wait for a person or a time."""
        return [
            run
            for run, driven_run in self._driven_runs.items()
            if driven_run.resting is None and driven_run.drive.state.opened.kind == kind
        ]

    async def _note_changes(self) -> None:
        while True:
            await self._next_change()
            self._told.set()

    async def _keep_taking(self) -> None:
        while True:
            self._told = anyio.Event()
            try:
                for lane in self.lanes:
                    await self._fill(lane)
            except StoreTroubleError as trouble:
                self._viewers.show(RunId(""), Live("trouble", trouble.message))
            with anyio.move_on_after(LOOK_S):
                await self._told.wait()

    @property
    def _takes_runs(self) -> bool:
        return not self.drains and self.helm.hold is not STOPPED

    async def _fill(self, lane: Lane) -> None:
        while len(self.at_work(lane.kind)) < lane.slots and self._takes_runs:
            run = await self._dispatch.take(lane.offers)
            if run is None:
                return
            try:
                await self.take(run)
            except HeldError:
                continue  # another worker was told of it, too
            if run in self._driven_runs:
                self.tell_of(run, f"starts: {self._driven_runs[run].drive.state.opened.title}")

    async def _remove(self, run: RunId, outcome: Outcome) -> None:
        closed = self._driven_runs[run].drive.state.closed
        await super()._remove(run, outcome)
        self.tell_of(run, f"ended: {outcome}" if closed else "goes on elsewhere")
