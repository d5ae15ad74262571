"""Finds the views that have changed since they were last broadcast."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, NamedTuple

import anyio

from allstop.board.graph import Board
from allstop.core.ids import BOARD, HELM, RunId, root_of
from allstop.core.run import RunState
from allstop.ports import Record
from allstop.server.run_messages import detail_of, hold_view, sprint_view, task_view
from allstop.server.wire_types import BoardState, InboxCount, Reset
from allstop.views.board_phase import action, counts, phase, stopped
from allstop.views.sprints import all_sprints

if TYPE_CHECKING:
    from allstop.app.live_runs import LiveRuns
    from allstop.board.state import BoardState as Pilot
    from allstop.views.inbox import Waiting

MAX_TASKS = 500
"""If more tasks change at once, listeners are told to fetch the board again."""

COUNT_S = 0.5
"""The minimum interval between two counts of the inbox, which examines every task."""


class ViewChange(NamedTuple):
    kind: str
    run: str
    value: object


def _identities(waiting: list[Waiting]) -> list[object]:
    """Identify the waiting items: their number alone doesn't show a replacement."""
    return [(each.id, each.since) for each in waiting]


class ViewChanges:
    """Collects the runs that may have changed, and compares their views with the last ones."""

    def __init__(self, live_runs: LiveRuns) -> None:
        self._live_runs = live_runs
        self._marked: dict[RunId, None] = {}
        self._last_values: dict[tuple[str, str], object] = {}
        self._board: Board | None = None
        self._stopped = frozenset[str]()  # tasks that were last shown as stopped
        self._waiting: list[object] = []
        self._next_count_at = 0.0
        self.has_uncounted = False  # the inbox may have changed

    async def begin(self) -> None:
        """Start from the present views: listeners fetch those themselves."""
        board = await self._live_runs.board()
        self._board = board.pilot.board if board else Board()
        if board:
            under = await self._live_runs.below(board.pilot)
            self._stopped = stopped(board.pilot, self._live_runs.helm, under)
        self._last_values["hold", ""] = hold_view(self._live_runs.helm)
        self._waiting = _identities(await self._live_runs.waiting())

    def note(self, record: Record) -> None:
        self._marked[record.run] = None
        if record.run == HELM:
            self.mark_all()

    def mark(self, run: RunId) -> None:
        self._marked[run] = None

    def mark_all(self) -> None:
        """Mark every open run: the helm has changed, or a driving process may have ended."""
        self._marked |= {head.run: None for head in self._live_runs.heads if not head.closed}

    async def changed_views(self) -> AsyncIterator[ViewChange]:
        marked, self._marked = self._marked, {}
        self.has_uncounted = self.has_uncounted or bool(marked)
        for each in self._changed("hold", "", hold_view(self._live_runs.helm)):
            yield each
        rewarned = set[str]()
        for run in marked:
            if self._live_runs.knows(run):
                before = self._last_values.get(("run", run))
                async for each in self._run_changes(run):
                    yield each
                rewarned |= await self._rewarned_tasks(run, before)
        of_board = any(root_of(run) == BOARD for run in marked)  # child runs affect its phase
        if of_board and (board := await self._live_runs.board()):
            async for each in self._board_changes(board, rewarned):
                yield each

        if self.has_uncounted and anyio.current_time() >= self._next_count_at:
            self.has_uncounted = False
            self._next_count_at = anyio.current_time() + COUNT_S
            before, self._waiting = self._waiting, _identities(await self._live_runs.waiting())
            if before != self._waiting:
                yield ViewChange("inbox", "", InboxCount(count=len(self._waiting)))

    async def _run_changes(self, run: RunId) -> AsyncIterator[ViewChange]:
        for each in self._changed("run", run, await self._live_runs.view(run)):
            yield each
        event = self._live_runs.kind(run).detail_event
        for each in (
            self._changed(event, run, await detail_of(self._live_runs, run)) if event else ()
        ):
            yield each

    def _changed(self, kind: str, run: str, value: object) -> Iterator[ViewChange]:
        if self._last_values.get((kind, run)) != value:
            self._last_values[kind, run] = value
            yield ViewChange(kind, run, value)

    async def _rewarned_tasks(self, run: RunId, before: object) -> set[str]:
        """Return the task of an attempt whose warning has appeared or disappeared."""
        now = self._last_values["run", run]
        if getattr(before, "warning", "") == getattr(now, "warning", ""):
            return set()
        opened = (await self._live_runs.run(run)).state.opened
        return {str(opened.spec.get("task", ""))} if opened.parent == BOARD else set()

    async def _board_changes(
        self, run: RunState[Pilot], rewarned: set[str]
    ) -> AsyncIterator[ViewChange]:
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
        for each in self._changed("board", BOARD, short):
            yield each
        latest = next(iter(all_sprints(state)), None)
        if latest is not None:
            shown = await sprint_view(self._live_runs, run, latest)
            for each in self._changed("sprint", BOARD, shown):
                yield each
        before, self._board = self._board or Board(), state.board
        names = set(state.board.nodes.changed_keys(before.nodes))
        names |= {name for name in rewarned if name in state.board.nodes}
        names |= halted ^ self._stopped
        self._stopped = halted
        if len(names) > MAX_TASKS:
            yield ViewChange("reset", "", Reset(lost=False))
            return
        changed = sorted((state.board[name] for name in names), key=lambda task: task.number)
        for task in changed:
            yield ViewChange(
                "task", BOARD, await task_view(self._live_runs, state.board, task, halted)
            )
