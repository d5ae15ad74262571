"""How the events of a board change its sprint, and the sprint's own moves."""

from datetime import datetime

from msgspec.structs import replace

from allstop.board import graph, sprint
from allstop.board.attempt import NO_PROGRESS
from allstop.board.sprint import Sprint
from allstop.board.sprint_states import Phase, Trigger
from allstop.board.state import FAILURES, BoardState
from allstop.core import board_specs, brakes
from allstop.core.board_specs import ALL_TASKS
from allstop.core.brakes import HARD, AtLimit
from allstop.core.commands import (
    Approve,
    CancelSprint,
    PauseSprint,
    Redo,
    Reject,
    ResumeSprint,
    SprintCommand,
    StartSprint,
    TaskCommand,
)
from allstop.core.events import ChildClosed
from allstop.core.moves import (
    RESUMABLE,
    CheckpointMade,
    EndSprint,
    Failed,
    MakeCheckpoint,
    Move,
)
from allstop.core.review_comments import ReviewDecision
from allstop.core.run import PilotContext
from allstop.core.tasks import Task


def active(state: BoardState) -> Sprint | None:
    """The running sprint, unless the board acts on named tasks only."""
    return state.sprint if state.named is None else None


def next_move(state: BoardState, context: PilotContext) -> Move | None:
    """The checkpoint before a sprint, or its end."""
    current = active(state)
    if current is None:
        return None
    if sprint.needs_checkpoint(current):
        return MakeCheckpoint(checkpoint=current.id, target=state.spec.target)
    merging = state.board.get(state.refs.get(state.merging, ""))
    merges = not state.is_braked and (merging is None or not merging.note)
    reason = sprint.end_reason(current, state.board, context.now, merges=merges)
    return EndSprint(sprint=current.id, reason=reason) if reason else None


def ends_at(state: BoardState) -> list[datetime]:
    """When a sprint ends by itself although nothing happens until then."""
    current = active(state)
    if current is None or current.phase is not Phase.RUNNING or current.open:
        return []
    at = current.spec.ends_at
    return [] if at is None else [at]


def end_at_limit(state: BoardState, context: PilotContext) -> Move | None:
    """The end of a sprint that stops at its budget, once none of its tasks is at work."""
    current = active(state)
    if current is None or current.open or current.spec.at_limit is not AtLimit.STOP:
        return None
    assert context.opened_at is not None, "a run that is driven was opened"
    status = brakes.check(context.limits, context.tally, context.opened_at, context.now)
    if status.level is not HARD:
        return None
    return EndSprint(sprint=current.id, reason=sprint.OUT_OF_BUDGET)


def reached(state: BoardState, at: datetime) -> BoardState:
    """The state after an event, with a sprint that has reached its target completing."""
    if state.sprint is None:
        return state
    return with_sprint(state, sprint.completing_if_reached(state.sprint, at))


def task_started(state: BoardState, task: Task) -> BoardState:
    if state.sprint is None:
        return state
    return with_sprint(state, sprint.task_started(state.sprint, task))


def task_waited(state: BoardState, task: Task, reason: str) -> BoardState:
    """A task waits for a person. One without progress may pause the sprint."""
    current = state.sprint
    is_stuck = reason.startswith(NO_PROGRESS)
    if current is None or not (
        is_stuck and current.spec.pause_on_stuck and task.id in current.open
    ):
        return state
    return with_sprint(state, sprint.paused_by(current, f"{task.id} is stuck: {reason}"))


def task_closed(state: BoardState, task: Task, closed: ChildClosed) -> BoardState:
    """An attempt at a task ended; a failed one may pause the sprint."""
    if state.sprint is None:
        return state
    current = sprint.task_closed(state.sprint, state.board[task.id], closed)
    is_own = task.id in state.sprint.open
    if is_own and current.spec.pause_on_error and closed.outcome in FAILURES:
        current = sprint.paused_by(current, f"{task.id} {closed.outcome}")
    return with_sprint(state, current)


def with_sprint(state: BoardState, current: Sprint) -> BoardState:
    return state if current is state.sprint else replace(state, sprint=current)


def over(state: BoardState, trigger: Trigger, at: datetime, reason: str) -> BoardState:
    """The sprint has ended; nothing else starts until a person wants it."""
    if state.sprint is None:
        return state
    completing = trigger is Trigger.TASKS_FINISHED
    current = sprint.moved(state.sprint, Trigger.TARGET_REACHED) if completing else state.sprint
    over = sprint.ended(current, trigger, at, reason)
    board = graph.favor(state.board, ALL_TASKS)
    sprints = (*state.sprints, over)
    return replace(state, sprint=None, sprints=sprints, rests=True, board=board)


def checkpoint_ended(
    state: BoardState, result: CheckpointMade | Failed, at: datetime
) -> BoardState:
    """A sprint without its checkpoint waits for a person; one that was cut off is repeated."""
    if state.sprint is None or not sprint.needs_checkpoint(state.sprint):
        return state
    if isinstance(result, CheckpointMade):
        made = sprint.with_checkpoint(state.sprint, result, state.spec.target, at)
        return replace(state, sprint=made)
    if result.kind in RESUMABLE:
        return state
    note = f"the checkpoint can't be made: {result.message}"
    return replace(state, sprint=sprint.paused_by(state.sprint, note))


def commanded(state: BoardState, command: SprintCommand, at: datetime) -> BoardState:
    current = state.sprint
    match command:
        case StartSprint(sprint=spec):
            if current is not None:
                return state
            begun = sprint.begin(len(state.sprints) + 1, spec, state.spec, at)
            mode = board_specs.Mode.AUTOPILOT
            return replace(
                state,
                sprint=begun,
                spec=replace(state.spec.in_mode(mode), only=None),
                chosen=mode,
                named=None,
                rests=False,
                board=graph.favor(state.board, spec.filters),
            )
        case CancelSprint():
            return over(state, Trigger.CANCEL_SPRINT, at, sprint.CANCELLED)
        case PauseSprint() if current is not None:
            paused = sprint.moved(current, Trigger.PAUSE_SPRINT, "a person paused it")
            return with_sprint(state, paused)
        case ResumeSprint() if current is not None:
            return with_sprint(state, sprint.moved(current, Trigger.RESUME_SPRINT))
        case _:
            return state


DECISIONS = {
    Approve: ReviewDecision.APPROVED,
    Redo: ReviewDecision.REDO,
    Reject: ReviewDecision.REJECTED,
}
"""The commands that decide about finished work."""


def with_decision(state: BoardState, command: TaskCommand) -> BoardState:
    """Note a person's decision in the sprint that did the work."""
    decision = DECISIONS.get(type(command))
    task = state.board.get(getattr(command, "task", ""))
    if decision is None or task is None:
        return state
    if state.sprint is not None and task.id in state.sprint.finished:
        return with_sprint(state, sprint.decided(state.sprint, task, decision))
    for place in range(len(state.sprints) - 1, -1, -1):
        before = state.sprints[place]
        if (after := sprint.decided(before, task, decision)) is not before:
            sprints = (*state.sprints[:place], after, *state.sprints[place + 1 :])
            return replace(state, sprints=sprints)
    return state
