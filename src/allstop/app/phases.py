"""Where the execution loop stands, as people see it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

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


class Below(NamedTuple):
    """What the open runs below a board say that its own record does not."""

    moving: bool = False  # a move of one of them is under way, if anybody drives it


def below(children: Iterable[RunState[Any]]) -> Below:
    return Below(moving=any(child.open_move is not None for child in children))


def phase(run: RunState[BoardState], helm: Helm, under: Below, *, driven: bool) -> Phase:
    """B5: where the execution loop stands."""
    state = run.pilot
    board = state.board
    hold = helm.hold if helm.hold is not Hold.NONE else run.hold
    if hold is Hold.STOPPED:
        return Phase.STOPPED
    if hold is not Hold.NONE:
        is_ending = hold is Hold.PAUSED and driven and under.moving
        return Phase.PAUSING if is_ending else Phase.PAUSED
    if driven and (board.count(Status.ACTIVE) or state.merging):
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
