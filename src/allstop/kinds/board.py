"""The board as a kind of run."""

from collections.abc import Collection, Iterable
from datetime import datetime

from allstop.board.board_pilot import BoardPilot
from allstop.board.state import BoardState
from allstop.core.moves import Outcome
from allstop.core.run import RunState
from allstop.core.tasks import OVER, Status, Task
from allstop.views.kind import Kind


class BoardKind(Kind):
    pilot = BoardPilot()
    is_endless = True

    def board(self, state: RunState[BoardState]) -> BoardState:
        return state.pilot

    def rest_outcome(self, state: RunState[BoardState], since: datetime | None) -> Outcome | None:
        own = _sprint_since(state.pilot, since)
        if own is not None:
            mine = [task for task in state.pilot.board.tasks() if task.id in own]
            return outcome_of(mine, mine)
        named = state.pilot.named
        tasks = [t for t in state.pilot.board.tasks() if named is None or t.id in named]
        return outcome_of(tasks, [t for t in tasks if since is None or _is_newer(t, since)])


def _sprint_since(state: BoardState, since: datetime | None) -> Collection[str] | None:
    """The tasks of the sprint that ran last, if it has ended since then."""
    last = state.sprints[-1] if state.sprints and state.rests else None
    ended_at = last.ended_at if last is not None else None
    if last is None or since is None or ended_at is None or ended_at < since:
        return None
    return last.taken


def _is_newer(task: Task, since: datetime) -> bool:
    return task.changed_at is not None and task.changed_at >= since


def outcome_of(tasks: Iterable[Task], touched: Iterable[Task]) -> Outcome | None:
    """How the touched tasks ended, the worst first; None if one of `tasks` is not over."""
    changed = [*touched]
    statuses = {task.status for task in changed}
    if statuses & {Status.FAILED, Status.BLOCKED} or any(task.has_crashed for task in changed):
        return Outcome.FAILED
    if Status.TIMEOUT in statuses:
        return Outcome.TIMED_OUT
    return Outcome.DONE if all(task.status in OVER for task in tasks) else None
