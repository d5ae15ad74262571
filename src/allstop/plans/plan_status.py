"""The status of a plan as document 004 names it, and the changes of status that can happen."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from allstop.core.helm import Helm, Hold
from allstop.core.moves import Finish, Wait
from allstop.core.run import RunState, expected_move, is_held
from allstop.plans.pilot import PlanPilot
from allstop.plans.state import PauseReason, PlanState


class Status(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"


TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.IDLE: frozenset({Status.RUNNING, Status.PAUSED}),  # with approval, it begins paused
    Status.RUNNING: frozenset({Status.PAUSING, Status.PAUSED, Status.STOPPING}),
    Status.PAUSING: frozenset({Status.PAUSED, Status.RUNNING, Status.STOPPING}),
    Status.PAUSED: frozenset({Status.RUNNING, Status.PAUSING, Status.STOPPING}),
    Status.STOPPING: frozenset({Status.IDLE}),
}
"""The statuses that can follow each one. Every end goes through `stopping`."""

PILOT = PlanPilot()


class PlanStatus(NamedTuple):
    status: Status
    reason: PauseReason | None = None  # of `paused`
    resumes_at: datetime | None = None  # when it continues by itself
    note: str = ""


def status_of(run: RunState[PlanState], helm: Helm, now: datetime) -> PlanStatus:
    plan = run.pilot
    if run.closed is not None:
        return PlanStatus(Status.IDLE, note=run.closed.note)
    if run.aborting or plan.end is not None:
        return PlanStatus(Status.STOPPING)
    if helm.hold is not Hold.NONE or run.hold is not Hold.NONE:
        holds = any(is_held(hold, PILOT, plan) for hold in (helm.hold, run.hold))
        if run.open_move is not None or not holds:
            return PlanStatus(Status.PAUSING)
        return PlanStatus(Status.PAUSED, PauseReason.USER)
    if run.open_move is not None:
        return PlanStatus(Status.RUNNING)
    return _waiting(run, helm, now)


def _waiting(run: RunState[PlanState], helm: Helm, now: datetime) -> PlanStatus:
    """The status while no move is open."""
    plan, move = run.pilot, expected_move(PILOT, run, now, helm)
    if isinstance(move, Finish):
        return PlanStatus(Status.STOPPING)
    if not isinstance(move, Wait):
        return PlanStatus(Status.RUNNING)
    if move.at_limit:
        return PlanStatus(Status.PAUSED, PauseReason.LIMITED, move.until, move.reason)
    if plan.paused:
        return PlanStatus(Status.PAUSED, PauseReason.FAILED, note=move.reason)
    if move.for_person:
        return PlanStatus(Status.PAUSED, PauseReason.APPROVAL, note=move.reason)
    if move.until is not None and move.until != plan.wait_until:
        return PlanStatus(Status.PAUSED, PauseReason.LIMITED, move.until, move.reason)
    return PlanStatus(Status.RUNNING, resumes_at=move.until, note=move.reason)
