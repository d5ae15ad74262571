"""The pilot of one merge: merges work with the target's tip, checks it, moves the branch."""

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.core import moves, work_prompts
from allstop.core.board_specs import MergeSpec
from allstop.core.commands import Resume, Retry
from allstop.core.events import Commanded, Event, MoveEnded
from allstop.core.gate import Gate, Integrity
from allstop.core.retries import Backoff
from allstop.core.run import PilotContext
from allstop.core.text import one_line

BUSY_BACKOFF = Backoff(first_s=5.0, factor=2.0, retries=1_000_000)
MAX_BUSY_WAIT = timedelta(seconds=60)
"""The longest wait before a checkout with uncommitted changes is tried again."""

FAILURE_BACKOFF = Backoff(first_s=2.0, factor=3.0, retries=3)


class MergeState(Struct, frozen=True, gc=False, kw_only=True):
    spec: MergeSpec
    made: moves.Integrated | None = None
    checked: bool = False
    landed: bool = False
    busy: int = 0  # how often in a row uncommitted changes were in the way
    failures: int = 0
    wait_until: datetime | None = None
    waits_for: str = ""
    end: moves.Outcome | None = None
    note: str = ""
    news: str = ""  # for the agent whose work conflicts


class MergePilot:
    kind = "merge"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> MergeState:
        return MergeState(spec=msgspec.convert(spec, MergeSpec))

    def evolve(self, state: MergeState, event: Event) -> MergeState:
        match event:
            case MoveEnded(result=result, at=at):
                return _apply_result(replace(state, wait_until=None), result, at)
            case Commanded(command=Retry() | Resume()):
                return replace(state, wait_until=None)
            case _:
                return state

    def undelivered(self, state: MergeState) -> tuple[str, ...]:
        return ()  # it takes no turns

    def next_move(self, state: MergeState, context: PilotContext) -> moves.Move:
        spec, made = state.spec, state.made
        if state.end is not None:
            return moves.Finish(outcome=state.end, note=state.note, facts={"news": state.news})
        if state.wait_until is not None and context.now < state.wait_until:
            is_busy = bool(state.busy)
            return moves.Wait(reason=state.waits_for, until=state.wait_until, for_person=is_busy)
        if made is None and spec.revert:
            return moves.Revert(commit=spec.revert, target=spec.target, message=spec.message)
        if made is None:
            return moves.Integrate(workspace=spec.task, target=spec.target, message=spec.message)
        gate = made.gate or spec.gate
        if not state.checked and (gate.checks or _has_fatal_protection(made.gate)):
            return moves.RunChecks.for_gate(
                gate,
                spec.task,
                commit=made.commit,
                unreviewed=spec.unreviewed,
                may_change=spec.may_change,
            )
        if not state.landed:
            return moves.Land(target=spec.target, tip=made.tip, commit=made.commit)
        commit = "" if made.commit == made.tip else made.commit  # nothing was merged
        return moves.Finish(outcome=moves.Outcome.DONE, facts={"commit": commit})


def _has_fatal_protection(gate: Gate | None) -> bool:
    """Whether a changed protected path fails the gate, so that it must run even without checks."""
    return gate is not None and bool(gate.protected) and gate.strictness is Integrity.FAIL


def _is_verified(spec: MergeSpec, made: moves.Integrated) -> bool:
    """Whether this tree has already passed this gate; the target may have another gate since."""
    if made.commit == made.tip:
        return True
    is_same_gate = made.gate is None or made.gate.fingerprint == spec.verified_by
    return bool(made.tree) and made.tree == spec.verified and is_same_gate


def _apply_result(state: MergeState, result: moves.Result, at: datetime) -> MergeState:
    match result:
        case moves.Integrated():
            is_known = _is_verified(state.spec, result)
            return replace(state, made=result, checked=is_known, failures=0)
        case moves.ChecksDone(passed=True):
            return replace(state, checked=True)
        case moves.ChecksDone(failed=failed, findings=findings):
            fatal = [finding.path for finding in findings if finding.fatal]
            names = ", ".join([*(check.name for check in failed), *fatal])
            return replace(
                state,
                end=moves.Outcome.CONFLICT,
                note=f"merged with {state.spec.target}, it fails: {names}",
                news=work_prompts.failed_merge(result, state.spec.target),
            )
        case moves.Landed():
            return replace(state, landed=True)
        case moves.Failed():
            return _failed(state, result, at)
        case _:
            return state


def _failed(state: MergeState, failed: moves.Failed, at: datetime) -> MergeState:
    message = one_line(failed.message, 300)
    if failed.kind in moves.RESUMABLE:
        return state  # each git move first checks what is already done
    if failed.kind is moves.FailureKind.MOVED:
        return replace(state, made=None, checked=False)
    if failed.kind is moves.FailureKind.CONFLICT:
        return replace(state, end=moves.Outcome.CONFLICT, note=f"conflicts: {message}")
    if failed.kind is moves.FailureKind.BUSY:
        busy = state.busy + 1
        delay = min(BUSY_BACKOFF.delay(min(busy, 8), state.spec.task), MAX_BUSY_WAIT)
        return replace(state, busy=busy, wait_until=at + delay, waits_for=message)
    if state.failures < FAILURE_BACKOFF.retries:
        failures = state.failures + 1
        delay = FAILURE_BACKOFF.delay(failures, state.spec.task)
        return replace(
            state, failures=failures, busy=0, wait_until=at + delay, waits_for="tries again later"
        )
    return replace(state, end=moves.Outcome.FAILED, note=f"{failed.kind}: {message}")
