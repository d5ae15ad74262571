"""The states of a sprint as document 003 names them, with the actions of each change."""

from enum import StrEnum
from typing import NamedTuple


class Phase(StrEnum):
    IDLE = "idle"
    CONFIGURING = "configuring"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETING = "completing"


class Trigger(StrEnum):
    OPEN_SPRINT_PANEL = "OPEN_SPRINT_PANEL"
    START_SPRINT = "START_SPRINT"
    CANCEL = "CANCEL"
    TASK_COMPLETED = "TASK_COMPLETED"
    TASK_FAILED = "TASK_FAILED"
    TARGET_REACHED = "TARGET_REACHED"
    PAUSE_SPRINT = "PAUSE_SPRINT"
    RESUME_SPRINT = "RESUME_SPRINT"
    CANCEL_SPRINT = "CANCEL_SPRINT"
    TASKS_FINISHED = "TASKS_FINISHED"  # the document's `always` of `completing`


class Action(StrEnum):
    CREATE_CHECKPOINT = "createCheckpoint"
    INITIALIZE_STATS = "initializeSprintStats"
    NOTIFY_STARTED = "notifySprintStarted"
    UPDATE_STATS = "updateSprintStats"
    SAVE_STATS = "saveSprintStats"
    NOTIFY_COMPLETED = "notifySprintCompleted"


class Transition(NamedTuple):
    to: Phase
    actions: tuple[Action, ...] = ()


_COUNTED = (Action.UPDATE_STATS,)
_SAVED = (Action.SAVE_STATS,)
_STARTED = (Action.NOTIFY_STARTED,)

TRANSITIONS: dict[Phase, dict[Trigger, Transition]] = {
    Phase.IDLE: {Trigger.OPEN_SPRINT_PANEL: Transition(Phase.CONFIGURING)},
    Phase.CONFIGURING: {
        Trigger.START_SPRINT: Transition(
            Phase.RUNNING, (Action.CREATE_CHECKPOINT, Action.INITIALIZE_STATS, *_STARTED)
        ),
        Trigger.CANCEL: Transition(Phase.IDLE),
    },
    Phase.RUNNING: {
        Trigger.TASK_COMPLETED: Transition(Phase.RUNNING, _COUNTED),
        Trigger.TASK_FAILED: Transition(Phase.RUNNING, _COUNTED),
        Trigger.TARGET_REACHED: Transition(Phase.COMPLETING),
        Trigger.PAUSE_SPRINT: Transition(Phase.PAUSED),
        Trigger.CANCEL_SPRINT: Transition(Phase.IDLE, _SAVED),
    },
    Phase.PAUSED: {
        Trigger.TASK_COMPLETED: Transition(Phase.PAUSED, _COUNTED),
        Trigger.TASK_FAILED: Transition(Phase.PAUSED, _COUNTED),
        Trigger.RESUME_SPRINT: Transition(Phase.RUNNING, _STARTED),
        Trigger.CANCEL_SPRINT: Transition(Phase.IDLE, _SAVED),
    },
    Phase.COMPLETING: {
        Trigger.TASK_COMPLETED: Transition(Phase.COMPLETING, _COUNTED),
        Trigger.TASK_FAILED: Transition(Phase.COMPLETING, _COUNTED),
        Trigger.CANCEL_SPRINT: Transition(Phase.IDLE, _SAVED),
        Trigger.TASKS_FINISHED: Transition(Phase.IDLE, (*_SAVED, Action.NOTIFY_COMPLETED)),
    },
}
"""What can happen in each state, where it leads, and which actions it causes.

Document 003 leaves `completing` at once. Here tasks at work finish first, so they are still
counted, the sprint can still be cancelled, and the actions of that state take place at its end.
"""


def after(phase: Phase, trigger: Trigger) -> Transition | None:
    """What a trigger causes; None if it has no effect in this state."""
    return TRANSITIONS[phase].get(trigger)
