"""Which views are others than what was last said of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, NamedTuple

import anyio

from allstop.board.graph import Board
from allstop.core.ids import BOARD, HELM, RunId, root_of
from allstop.core.run import RunState
from allstop.ports import Record
from allstop.server.run_messages import detail_of, hold_view, task_view
from allstop.server.wire_types import BoardState, InboxCount, Reset
from allstop.views.board_phase import action, counts, phase, stopped

if TYPE_CHECKING:
    from allstop.app.live_runs import LiveRuns
    from allstop.board.board_pilot import BoardState as Pilot
    from allstop.views.inbox import Waiting

MOST_TASKS = 500
"""When more of them change at once, everybody had better look at the board again."""

COUNT_S = 0.5
"""What waits for a person is not counted more often: every task is looked at for it."""


class Changed(NamedTuple):
    kind: str
    run: str
    value: object


def _names(waiting: list[Waiting]) -> list[object]:
    """As many others are something else, although the number is the same."""
    return [(each.id, each.since) for each in waiting]


class Changes:
    """Notes who may have changed; says it when that is true."""

    def __init__(self, live_runs: LiveRuns) -> None:
        self._live_runs = live_runs
        self._suspects: dict[RunId, None] = {}
        self._said: dict[tuple[str, str], object] = {}
        self._board: Board | None = None
        self._stopped = frozenset[str]()  # tasks that were last shown as such
        self._waiting: list[object] = []
        self._next_count_at = 0.0
        self.has_uncounted = False  # what waits for a person may be more or less

    async def begin(self) -> None:
        """What is there now is known to who comes now."""
        board = await self._live_runs.board()
        self._board = board.pilot.board if board else Board()
        if board:
            under = await self._live_runs.below(board.pilot)
            self._stopped = stopped(board.pilot, self._live_runs.helm, under)
        self._said["hold", ""] = hold_view(self._live_runs.helm)
        self._waiting = _names(await self._live_runs.waiting())

    def note(self, record: Record) -> None:
        self._suspects[record.run] = None
        if record.run == HELM:
            self.suspect_all()

    def suspect(self, run: RunId) -> None:
        self._suspects[run] = None

    def suspect_all(self) -> None:
        """Every run that is not over: the helm has moved, or somebody may drive no longer."""
        self._suspects |= {head.run: None for head in self._live_runs.heads if not head.closed}

    async def found(self) -> AsyncIterator[Changed]:
        suspects, self._suspects = self._suspects, {}
        self.has_uncounted = self.has_uncounted or bool(suspects)
        for each in self._news("hold", "", hold_view(self._live_runs.helm)):
            yield each
        warned = set[str]()
        for run in suspects:
            if self._live_runs.knows(run):
                before = self._said.get(("run", run))
                async for each in self._of_run(run):
                    yield each
                warned |= await self._warned(run, before)
        of_board = any(root_of(run) == BOARD for run in suspects)  # a pause ends with a move below
        if of_board and (board := await self._live_runs.board()):
            async for each in self._of_board(board, warned):
                yield each

        if self.has_uncounted and anyio.current_time() >= self._next_count_at:
            self.has_uncounted = False
            self._next_count_at = anyio.current_time() + COUNT_S
            before, self._waiting = self._waiting, _names(await self._live_runs.waiting())
            if before != self._waiting:
                yield Changed("inbox", "", InboxCount(count=len(self._waiting)))

    async def _of_run(self, run: RunId) -> AsyncIterator[Changed]:
        for each in self._news("run", run, await self._live_runs.view(run)):
            yield each
        event = self._live_runs.kind(run).detail_event
        for each in self._news(event, run, await detail_of(self._live_runs, run)) if event else ():
            yield each

    def _news(self, kind: str, run: str, value: object) -> Iterator[Changed]:
        if self._said.get((kind, run)) != value:
            self._said[kind, run] = value
            yield Changed(kind, run, value)

    async def _warned(self, run: RunId, before: object) -> set[str]:
        """The task of an attempt of which a warning was said, or is true no longer."""
        now = self._said["run", run]
        if getattr(before, "warning", "") == getattr(now, "warning", ""):
            return set()
        opened = (await self._live_runs.run(run)).state.opened
        return {str(opened.spec.get("task", ""))} if opened.parent == BOARD else set()

    async def _of_board(self, run: RunState[Pilot], warned: set[str]) -> AsyncIterator[Changed]:
        state, helm = run.pilot, self._live_runs.helm
        under, driven = await self._live_runs.below(state), self._live_runs.is_driven(BOARD)
        halted = stopped(state, helm, under)
        now = phase(run, helm, under, driven=driven)
        short = BoardState(
            phase=now.value,
            action=action(state.board, now),
            mode=state.spec.mode.value,
            counts=counts(state.board, halted),
        )
        for each in self._news("board", BOARD, short):
            yield each
        before, self._board = self._board or Board(), state.board
        names = set(state.board.nodes.changed_keys(before.nodes))
        names |= {name for name in warned if name in state.board.nodes}
        names |= halted ^ self._stopped
        self._stopped = halted
        if len(names) > MOST_TASKS:
            yield Changed("reset", "", Reset(lost=False))
            return
        changed = sorted((state.board[name] for name in names), key=lambda task: task.number)
        for task in changed:
            yield Changed(
                "task", BOARD, await task_view(self._live_runs, state.board, task, halted)
            )
