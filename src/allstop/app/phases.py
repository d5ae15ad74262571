"""Where the execution loop stands, as people see it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from allstop.core import board as board_
from allstop.core.board import Board
from allstop.core.helm import Helm, Hold
from allstop.core.run import RunState
from allstop.core.specs import Mode
from allstop.core.tasks import OVER, Status, Task
from allstop.pilots.board import BoardState


class Phase(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    WAITING_USER = "waiting_user"
    STOPPED = "stopped"
    COMPLETED = "completed"


def phase(run: RunState[BoardState], helm: Helm, *, driven: bool) -> Phase:
    """B5: where the execution loop stands."""
    state = run.pilot
    board = state.board
    hold = helm.hold if helm.hold is not Hold.NONE else run.hold
    at_work = driven and bool(board.count(Status.ACTIVE) or state.merging)
    if hold is Hold.STOPPED:
        return Phase.STOPPED
    if hold is not Hold.NONE:
        return Phase.PAUSING if at_work and hold is Hold.PAUSED else Phase.PAUSED
    if at_work:
        return Phase.RUNNING
    if not board.added:
        return Phase.IDLE
    if all(status in OVER for status, count in board.counts.items() if count):
        return Phase.COMPLETED
    if not driven and not _begun(board.tasks()):
        return Phase.IDLE
    needs_person = state.spec.mode is Mode.SEMI or board_.best(board) is None
    return Phase.WAITING_USER if needs_person or state.errors >= state.spec.errors else Phase.IDLE


def is_stopped(task: Task, helm: Helm | None) -> bool:
    """Whether it would be at work, had not everything been stopped: people see it as pending."""
    return helm is not None and helm.hold is Hold.STOPPED and task.status is Status.ACTIVE


def counts(board: Board, helm: Helm) -> dict[str, int]:
    """How many tasks are shown in which status."""
    found = {status: count for status, count in board.counts.items() if count}
    if helm.hold is Hold.STOPPED and (stopped := found.pop(Status.ACTIVE, 0)):
        found[Status.PENDING] = found.get(Status.PENDING, 0) + stopped
    return {status.value: count for status, count in found.items()}


def _begun(tasks: Iterable[Task]) -> bool:
    return any(task.attempts for task in tasks)
