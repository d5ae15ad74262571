"""Work whose target has moved: it is checked as it is once merged with the branch's tip."""

from __future__ import annotations

import math

from msgspec.structs import replace

from allstop.board import attempt
from allstop.board.attempt import TaskState
from allstop.core import work_prompts
from allstop.core.moves import (
    ChecksDone,
    Failed,
    FailureKind,
    Integrate,
    Integrated,
    Move,
    Result,
    RunChecks,
)

UNJOINED = frozenset({FailureKind.CONFLICT, FailureKind.BAD_REQUEST})
"""It can't be merged as it is: the merge queue brings that to the agent, or to a person."""


def gate(state: TaskState) -> Move:
    """What has to be done before the work counts: most often nothing but the checks.

    Where nothing is run there is nothing that others' work could make fail.
    """
    spec, left_s = state.spec, attempt.seconds_left(state)
    if is_joining(state):
        message = f"Merge {spec.task} to check it"
        return Integrate(workspace=spec.task, target=spec.target or "", message=message)
    return RunChecks.for_gate(
        state.held_to,
        spec.task,
        commit=_merge(state.joined),
        follows=(spec.target or "") if _has_to_follow(state) else "",
        timeout_s=None if left_s == math.inf else left_s,
    )


def _has_to_follow(state: TaskState) -> bool:
    is_known = state.behind or state.joined is not None
    return state.spec.edition >= 2 and bool(state.held_to.checks) and not is_known


def _merge(joined: Integrated | Failed | None) -> str:
    """The commit that is checked in its place; "" where there is none but its own."""
    match joined:
        case Integrated(tip=tip, commit=commit) if commit != tip:
            return commit
        case _:
            return ""


def is_joining(state: TaskState) -> bool:
    return state.behind and state.joined is None


def came_back(state: TaskState, result: Result) -> TaskState | None:
    """The state with what was found out of the target; None where this is about something else."""
    match result:
        case Failed(kind=FailureKind.MOVED) if _has_to_follow(state):
            return replace(state, behind=True)
        case Integrated() if is_joining(state):
            return replace(state, joined=result)
        case Failed(kind=kind) if is_joining(state) and kind in UNJOINED:
            return replace(state, joined=result)
        case _:
            return None


def apart(state: TaskState) -> TaskState:
    """The work will be other work: what it was merged with says nothing of that."""
    return replace(state, behind=False, joined=None)


def rebuffed(state: TaskState, gate: ChecksDone, names: str) -> TaskState:
    """What failed only with the target's news has to be mended with them: they are brought in."""
    target, joined = state.spec.target or "", state.joined
    if not isinstance(joined, Integrated):
        return attempt.rebuffed(state, f"this fails: {names}", work_prompts.failed_gate(gate))
    news = work_prompts.failed_joined(gate, target, joined.tip)
    state = attempt.rebuffed(state, f"merged with {target}, this fails: {names}", news)
    return replace(apart(state), base="", onto=joined.tip)
