"""Recorded forecasts and what came, folded from the board's journal."""

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from allstop.board import graph
from allstop.board.graph import Board
from allstop.core.commands import RecordForecast
from allstop.core.tasks import Status

KEPT = 50
"""How many recorded forecasts a board remembers."""


class RecordedForecast(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A forecast and what came. A forecast is compared once, unless a later one replaces it."""

    made_at: datetime
    made: RecordForecast
    left: frozenset[str]  # its tasks that have not finished
    ended_at: datetime | None = None  # when the last task finished and no other could run
    finished: int = 0
    cost_microusd: int = 0
    partial: bool = False  # more was spent than agents reported


def recorded(
    known: tuple[RecordedForecast, ...], made: RecordForecast, board: Board, at: datetime
) -> tuple[RecordedForecast, ...]:
    left = frozenset(task for task in made.tasks if task in board.nodes)
    new = RecordedForecast(made_at=at, made=made, left=left)
    return (*known, new)[-KEPT:]


def compared(
    known: tuple[RecordedForecast, ...],
    board: Board,
    at_work: Collection[str],
    closed: str,
    at: datetime,
) -> tuple[RecordedForecast, ...]:
    """The forecasts after the end of an attempt or a merge of the task `closed`.

    `at_work` are the tasks with an open run.
    """
    if not known or known[-1].ended_at is not None or closed not in known[-1].made.tasks:
        return known
    latest = known[-1]
    if board[closed].status not in (Status.PENDING, Status.ACTIVE):
        latest = replace(latest, left=latest.left - {closed})
    if _is_over(latest, board, at_work, at):
        latest = _with_result(latest, board)
    return (*known[:-1], latest)


def _is_over(
    latest: RecordedForecast, board: Board, at_work: Collection[str], at: datetime
) -> bool:
    made = latest.made
    tasks = set(made.tasks)
    if not tasks.isdisjoint(at_work) or any(task in tasks for _, task in board.merges):
        return False
    is_due = made.until is not None and at >= made.until
    if is_due or (made.count is not None and len(made.tasks) - len(latest.left) >= made.count):
        return True
    return not any(graph.rank(board, task) is not None for task in latest.left)


def _with_result(latest: RecordedForecast, board: Board) -> RecordedForecast:
    tasks = [task for name in latest.made.tasks if (task := board.get(name)) is not None]
    ended = [
        (attempt.ended_at, task)
        for task in tasks
        if (attempt := task.attempts[-1] if task.attempts else None)
        and attempt.ended_at is not None
        and attempt.ended_at >= latest.made_at
        and task.id not in latest.left
    ]
    spent = sum(task.tally.cost_microusd for task in tasks) - latest.made.spent_microusd
    return replace(
        latest,
        ended_at=max((at for at, _ in ended), default=latest.made_at),
        finished=len(ended),
        cost_microusd=max(0, spent),
        partial=any(task.tally.partial for task in tasks),
    )
