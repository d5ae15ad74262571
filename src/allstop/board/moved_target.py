"""Checks work whose target branch has moved: the merge with the branch's tip is checked."""

import math

from msgspec.structs import replace

from allstop.board import attempt
from allstop.board.attempt import TaskState
from allstop.core import moves, work_prompts
from allstop.core.gate import Check, Gate
from allstop.gate import intent

NOT_MERGEABLE = frozenset({moves.FailureKind.CONFLICT, moves.FailureKind.BAD_REQUEST})
"""The work can't be merged; the merge queue later sends it to the agent or a person."""


def gate_move(state: TaskState) -> moves.Move:
    """The next move towards a passed gate: usually the checks, or first a merge with the target.

    Without checks no merge is needed: newer commits can't make anything fail.
    """
    spec, left_s = state.spec, attempt.seconds_left(state)
    if must_merge_first(state):
        message = f"Merge {spec.task} to check it"
        return moves.Integrate(workspace=spec.task, target=spec.target or "", message=message)
    gate = state.effective_gate
    return moves.RunChecks.for_gate(
        gate,
        spec.task,
        commit=_merge_commit(state.target_merge),
        affected=any(check.paths for check in gate.checks),
        follows=(spec.target or "") if _must_follow_target(state) else "",
        timeout_s=None if left_s == math.inf else left_s,
        unreviewed=spec.unreviewed,
        may_change=spec.may_change,
        fixes=_is_strict(state) and intent.asks_for_fix(spec.goal),
    )


def checks_of_turns(state: TaskState) -> tuple[Check, ...]:
    """The checks that also run after each turn."""
    return tuple(check for check in state.effective_gate.checks if check.each_turn)


def turn_checks(state: TaskState) -> moves.RunChecks:
    quarantine = state.effective_gate.quarantine
    checks = checks_of_turns(state)
    gate = Gate(checks=checks, keep_going=True, quarantine=quarantine)  # judges wait for the end
    left_s = attempt.seconds_left(state)
    timeout_s = None if left_s == math.inf else left_s
    return moves.RunChecks.for_gate(gate, state.spec.task, affected=True, timeout_s=timeout_s)


def turn_checked(state: TaskState, result: moves.ChecksDone) -> TaskState:
    """Failures after a turn are only told to the agent, which has not finished yet."""
    told = work_prompts.failed_gate(result) if result.failed else ""
    return replace(state, is_due=False, news="\n\n".join(filter(None, [state.news, told])))


def _is_strict(state: TaskState) -> bool:
    """Gates from before verdicts don't ask, so that their records replay."""
    return state.effective_gate.integrity is not None


def _must_follow_target(state: TaskState) -> bool:
    is_known = state.is_behind or state.target_merge is not None
    return state.spec.edition >= 2 and state.effective_gate.has_commands and not is_known


def _merge_commit(target_merge: moves.Integrated | moves.Failed | None) -> str:
    """The merge commit to check; "" to check the work's own commit."""
    match target_merge:
        case moves.Integrated(tip=tip, commit=commit) if commit != tip:
            return commit
        case _:
            return ""


def must_merge_first(state: TaskState) -> bool:
    return state.is_behind and state.target_merge is None


def apply_result(state: TaskState, result: moves.Result) -> TaskState | None:
    """The state after a result about the target; None if the result is about something else."""
    match result:
        case moves.Failed(kind=moves.FailureKind.MOVED) if _must_follow_target(state):
            return replace(state, is_behind=True)
        case moves.Integrated() if must_merge_first(state):
            return replace(state, target_merge=result)
        case moves.Failed(kind=kind) if must_merge_first(state) and kind in NOT_MERGEABLE:
            return replace(state, target_merge=result)
        case _:
            return None


def without_merge(state: TaskState) -> TaskState:
    """The state without the merge, which becomes invalid when the work changes."""
    return replace(state, is_behind=False, target_merge=None)


def reject_completion(state: TaskState, gate: moves.ChecksDone, names: str) -> TaskState:
    """If only the merge failed, the agent gets the target's commits in its workspace."""
    target, target_merge = state.spec.target or "", state.target_merge
    if not isinstance(target_merge, moves.Integrated):
        return attempt.reject_completion(
            state, f"this fails: {names}", work_prompts.failed_gate(gate)
        )
    news = work_prompts.failed_joined(gate, target, target_merge.tip)
    state = attempt.reject_completion(state, f"merged with {target}, this fails: {names}", news)
    return replace(without_merge(state), base="", onto=target_merge.tip)
