"""The engine of a fleet's control room: drives the board, and hands out the runs below it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio

from allstop.core import run as runs
from allstop.core.events import Opened
from allstop.core.helm import RUNNING
from allstop.core.ids import BOARD, RunId, root_of
from allstop.core.moves import Wait
from allstop.core.run import FoldedRun, RunState
from allstop.engine.driven_run import fold
from allstop.engine.local import LocalEngine
from allstop.ports import Dispatch, Handout, Live, StoreTroubleError

LOOK_S = 2.0
"""How often it looks for runs that no worker has, in case that nobody told of one."""

TELL_S = 15.0
"""How long a run waits before people are told what it waits for."""

PAUSE_S = 0.1
"""Between two looks, unless a run was opened."""

NeedsOf = Callable[[Opened], frozenset[str]]
"""What a worker must offer for a run."""

Offers = Callable[[], Awaitable[Sequence[frozenset[str]] | None]]
"""What the workers offer, which take runs now; None if that isn't known."""


async def unknown_offers() -> None:
    return None


class ControlEngine(LocalEngine):
    """It reads along with the runs that workers drive, but never writes to them."""

    def __init__(
        self,
        *,
        dispatch: Dispatch,
        needs_of: NeedsOf,
        describe: Callable[[frozenset[str]], str] = lambda needs: "",
        offers: Offers = unknown_offers,
        **more: Any,
    ) -> None:
        """`describe` puts needs into words. `more` is what the base class takes."""
        super().__init__(**more)
        self._dispatch = dispatch
        self._needs_of, self._describe, self._offers = needs_of, describe, offers
        self._elsewhere: dict[RunId, FoldedRun[Any]] = {}  # open runs below the board
        self._unread: set[RunId] = set()  # those that were written to since
        self._free_since: dict[RunId, float] = {}  # since when no worker has them
        self._told: set[RunId] = set()  # of these, people know that they wait
        self._parked: set[RunId] = set()
        self._news, self._opened = anyio.Event(), anyio.Event()

    def drives_here(self, run: RunId) -> bool:
        return run == BOARD or root_of(run) != BOARD

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[LocalEngine]:
        async with super().serving(), anyio.create_task_group() as group:
            group.start_soon(self._keep_handing_out)
            yield self
            group.cancel_scope.cancel()

    def state(self, run: RunId) -> RunState[Any] | None:
        elsewhere = self._elsewhere.get(run)
        return elsewhere.state if elsewhere else super().state(run)

    async def take(
        self, run: RunId, known: FoldedRun[Any] | None = None, parked: Collection[RunId] = ()
    ) -> None:
        self._parked.update(each for each in parked if not self.drives_here(each))
        await super().take(run, known, parked)
        if self.claim_of(run) == BOARD:
            await self._look()

    async def idle(self) -> None:
        while True:
            await super().idle()
            is_behind = any(each.drive.behind for each in self._driven_runs.values())
            is_at_work = self._unread or any(map(self._goes_on, self._elsewhere.values()))
            if not ((is_at_work or is_behind) and self.has_claimed(BOARD)):
                return
            await self._next_change()

    def _goes_on(self, elsewhere: FoldedRun[Any]) -> bool:
        """Whether a run continues without a person."""
        state = elsewhere.state
        if state.open_move is not None or state.closed is not None:
            return True  # of a closed run, the board has yet to read how it ended
        pilot = self._pilots[state.opened.kind]
        move = runs.expected_move(pilot, state, self._clock.now(), self.helm)
        return not isinstance(move, Wait) or (move.until is not None and not move.for_person)

    def _on_write(self, run: RunId, seq: int) -> None:
        super()._on_write(run, seq)
        if not self.drives_here(run):
            self._parked.discard(run)
            self._unread.add(run)
            self._news.set()
            if seq == 1:
                self._opened.set()

    async def _keep_handing_out(self) -> None:
        while True:
            with anyio.move_on_after(LOOK_S):
                await self._news.wait()
            self._news, self._opened = anyio.Event(), anyio.Event()
            if self.has_claimed(BOARD):
                try:
                    await self._look()
                except StoreTroubleError as trouble:
                    self._viewers.show(BOARD, Live("trouble", trouble.message))
            with anyio.move_on_after(PAUSE_S):
                await self._opened.wait()

    async def _look(self) -> None:
        """Read along, and hand out each run that no worker has."""
        unread = set(self._unread)
        heads = await self._journal.heads(open_only=True)
        for head in heads:  # they may be newer than what listeners were told
            if head.run in self._driven_runs:
                self._on_write(head.run, head.seq)
        below = {head.run: head.seq for head in heads if not self.drives_here(head.run)}
        await self._read_along(below)
        self._unread -= unread
        holders = self._journal.holders()
        free = [run for run in below if run not in holders and run not in self._parked]
        handouts = list(self._handouts(free))
        if handouts:
            queued = await self._dispatch.queued()
            await self._dispatch.put([each for each in handouts if each.run not in queued])
        await self._tell_of_waiting(handouts)
        self._changed.set()

    async def _tell_of_waiting(self, handouts: Iterable[Handout]) -> None:
        """Tell people what a run waits for that no worker takes."""
        now = anyio.current_time()
        needs = {handout.run: handout.needs for handout in handouts}
        self._free_since = {run: self._free_since.get(run, now) for run in needs}
        self._told &= needs.keys()
        late = [run for run, since in self._free_since.items() if now - since >= TELL_S]
        if not late or self.helm.hold is not RUNNING:
            return
        offers = await self._offers()
        for run in late:
            words = self._describe(needs[run])
            if offers is not None and not any(needs[run] <= each for each in offers):
                text = f"work waits, because there is no worker{words}"
                self._viewers.show(BOARD, Live("trouble", text))  # it is said once in a while
            if run not in self._told:
                self._told.add(run)
                self._viewers.show(run, Live("queued", f"waits for a free worker{words}"))

    async def _read_along(self, below: dict[RunId, int]) -> None:
        for run in self._elsewhere.keys() - below.keys():
            del self._elsewhere[run]
        for run, seq in below.items():
            known = self._elsewhere.get(run)
            if known is None or known.seq < seq:
                records = await self._journal.read(run, after=known.seq if known else 0)
                try:
                    _, self._elsewhere[run] = fold(self._pilots, records, known)
                except Exception as error:  # noqa: BLE001 - an unreadable run must not hold up others
                    self._viewers.show(
                        run, Live("trouble", f"broken: {type(error).__name__}: {error}")
                    )

    def _handouts(self, free: Iterable[RunId]) -> Iterable[Handout]:
        """The runs with what they need; those that have begun come first."""
        for run in free:
            if (folded := self._elsewhere.get(run)) is not None:
                yield Handout(run, self._needs_of(folded.state.opened), int(folded.state.moves > 0))
