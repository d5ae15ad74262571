"""The board's phase, and the status of stopped tasks, as people see them."""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from allstop.board import graph
from allstop.board.graph import Board
from allstop.board.state import BoardState
from allstop.core.board_specs import Mode
from allstop.core.helm import Helm, Hold
from allstop.core.run import RunState
from allstop.core.tasks import OVER, Status, Task


class Phase(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    WAITING_USER = "waiting_user"
    STOPPED = "stopped"
    COMPLETED = "completed"


class ChildRuns(NamedTuple):
    """Facts from the open child runs of a board."""

    moving: bool = False  # one of them has an open move
    stopped: frozenset[str] = frozenset()  # tasks whose attempts were stopped one by one


def below(state: BoardState, children: Iterable[RunState[Any]]) -> ChildRuns:
    moving, stopped = False, set[str]()
    for child in children:
        moving = moving or child.open_move is not None
        if child.hold is Hold.STOPPED:
            stopped.add(state.refs.get(child.opened.ref, ""))
    return ChildRuns(moving, frozenset(stopped))


def phase(run: RunState[BoardState], helm: Helm, under: ChildRuns, *, driven: bool) -> Phase:
    """B5: the phase of the execution loop."""
    state = run.pilot
    board = state.board
    hold = helm.hold if helm.hold is not Hold.NONE else run.hold
    if hold is Hold.STOPPED:
        return Phase.STOPPED
    if hold is not Hold.NONE:
        is_ending = hold is Hold.PAUSED and driven and under.moving
        return Phase.PAUSING if is_ending else Phase.PAUSED
    held = sum(until is None for until in state.resting.values())  # paused one by one
    if driven and (board.count(Status.ACTIVE) > held or state.merging):
        return Phase.RUNNING
    if not board.added:
        return Phase.IDLE
    if all(status in OVER for status, count in board.counts.items() if count):
        return Phase.COMPLETED
    if not driven and not _begun(board.tasks()):
        return Phase.IDLE
    needs_person = state.spec.mode is Mode.SEMI or graph.best(board) is None
    return Phase.WAITING_USER if needs_person or state.is_braked else Phase.IDLE


def action(board: Board, phase: Phase) -> str:
    """The command that a person can give the board now: start, pause, resume, or ""."""
    match phase:
        case Phase.RUNNING:
            return "pause"
        case Phase.PAUSING | Phase.PAUSED:
            return "resume"
        case Phase.STOPPED:
            return ""
        case _:
            return "start" if graph.best(board) else ""


def stopped(state: BoardState, helm: Helm, under: ChildRuns) -> frozenset[str]:
    """Return active tasks that were stopped, alone or with everything; people see them as pending."""
    begun = state.refs.values() if helm.hold is Hold.STOPPED else under.stopped
    tasks = filter(None, map(state.board.get, begun))
    return frozenset(task.id for task in tasks if task.status is Status.ACTIVE)


def counts(board: Board, stopped: Collection[str]) -> dict[str, int]:
    """Count the tasks by the status that people see."""
    found = {status: count for status, count in board.counts.items() if count}
    if stopped:
        found[Status.ACTIVE] -= len(stopped)
        found[Status.PENDING] = found.get(Status.PENDING, 0) + len(stopped)
    return {status.value: count for status, count in found.items() if count}


def _begun(tasks: Iterable[Task]) -> bool:
    return any(task.attempts for task in tasks)
