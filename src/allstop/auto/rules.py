"""Rules of Full Auto: the decision after a turn, and the conditions that override decisions."""

from datetime import datetime

import msgspec

from allstop.auto.safety import UNSAFE, lacks_sandbox, unsafe
from allstop.auto.state import Action, AutoSpec, Decision, History, ReviewWhen, TurnSummary
from allstop.core.moves import LIMITED, ChecksDone, Failed, FailureKind
from allstop.core.retries import LimitStreak
from allstop.core.signals import Signal
from allstop.core.text import one_line

MOST_REVIEWS = 3
"""Maximum reviews per run."""


MOST_WAITS = 10
"""Maximum waits in a row for a limit without a reset time, if the spec has no endurance."""

GATE = "the gate"
"""The author of a decision to continue after a failed gate."""


def hard_stop(spec: AutoSpec, summary: TurnSummary) -> str:
    """The hard stop condition, which wins over any decision; "" if none."""
    if summary.unanswered:
        return f"nobody answered in time: {one_line(summary.unanswered[0])}"
    if lacks_sandbox(spec, summary):
        return ""
    if summary.kind is not None and summary.kind not in RECOVERABLE:
        return f"{summary.kind.value.replace('_', ' ')}: {one_line(summary.error, 200)}"
    return ""


RECOVERABLE = frozenset(
    {
        FailureKind.RATE_LIMITED,
        FailureKind.USAGE_LIMITED,
        FailureKind.OVERLOADED,
        FailureKind.NETWORK,
        FailureKind.UNAVAILABLE,
        FailureKind.CRASHED,
        FailureKind.EXITED,
        FailureKind.TIMED_OUT,
        FailureKind.STALLED,
        FailureKind.CONTEXT,
        FailureKind.CAPPED,
    }
)


def may_wait(spec: AutoSpec, failed: Failed, at: datetime, before: LimitStreak) -> bool:
    """Whether to wait for a limit: it has a reset time, or hasn't lasted too long."""
    if spec.endurance is None:
        return failed.retry_at is not None or before.times < MOST_WAITS
    return not spec.endurance.give_up_reason(failed, at, before)


def soft_stop(spec: AutoSpec, history: History, summary: TurnSummary) -> str:
    """The soft stop condition: repeated errors, compactions or no progress; "" if none."""
    errors = history.errors[-spec.repeated_errors :]
    if len(errors) == spec.repeated_errors and len(set(errors)) == 1:
        last_error = f"{summary.kind}: {one_line(summary.error, 200)}"
        return f"the same error {spec.repeated_errors} times: {last_error}"
    recent = [turn for turn in history.compactions if turn > summary.turn - spec.compaction_turns]
    if len(recent) >= spec.max_compactions:
        return f"compacted {len(recent)} times within {spec.compaction_turns} turns"
    turns = max(2, spec.no_progress_turns)
    last = history.footprints[-turns:]
    only_looked = summary.was_review and history.reviews <= MOST_REVIEWS
    if len(last) == turns and len(set(last)) == 1 and not only_looked:
        return f"no progress: the same plan and the same work for {turns} turns"
    return ""


def by_rules(spec: AutoSpec, history: History, summary: TurnSummary) -> Decision:
    """The rules' decision after a turn."""
    turn = summary.turn
    said = summary.said
    if said.signal is Signal.BLOCKED:
        return Decision(turn=turn, action=Action.PAUSE, reason=f"it is blocked: {said.text}")
    if said.signal is Signal.PENDING:
        return Decision(turn=turn, action=Action.PAUSE, reason=f"it asks: {said.text}")
    if said.signal is Signal.COMPLETE:
        if _wants_review(spec, history, summary, ReviewWhen.END):
            reason = "it says that it is done; first it looks at its own work"
            return Decision(turn=turn, action=Action.REVIEW, reason=reason)
        return Decision(turn=turn, action=Action.STOP, reason="it says that it is done")
    if summary.kind in LIMITED:
        reason = f"{spec.agent} is still {_kind(spec, summary)}: {one_line(summary.error, 200)}"
        return Decision(turn=turn, action=Action.PAUSE, reason=reason)
    if summary.status == "failed":
        is_final = spec.edition >= 2 and summary.kind not in RECOVERABLE
        again = "" if is_final else "; it is tried again"
        reason = f"the turn failed ({_kind(spec, summary)}){again}"
        return Decision(turn=turn, action=Action.CONTINUE, reason=reason, confidence=0.7)
    reason = "it has not said that it is done"
    return Decision(turn=turn, action=Action.CONTINUE, reason=reason, confidence=0.9)


def _kind(spec: AutoSpec, summary: TurnSummary) -> str:
    """The failure kind as text; the first edition kept its underscores."""
    return str(summary.kind) if spec.edition < 2 else str(summary.kind).replace("_", " ")


def after_gate(turn: int, gate: ChecksDone) -> Decision:
    """The decision after a failed gate."""
    failed = [check.name for check in gate.failed]
    failed += [f"{each.kind} {each.path}" for each in gate.findings if each.fatal]
    reason = f"the gate disagrees: {one_line(', '.join(failed), 200)}"
    return Decision(turn=turn, action=Action.CONTINUE, reason=reason, by=GATE)


def _wants_review(spec: AutoSpec, history: History, summary: TurnSummary, when: ReviewWhen) -> bool:
    """Whether a review is due: once for each state of the work."""
    has_work = summary.change is not None and summary.change.files > 0
    return (
        spec.review in (when, ReviewWhen.BOTH)
        and has_work
        and history.reviews < MOST_REVIEWS
        and history.reviewed != summary.footprint
    )


def gated(spec: AutoSpec, history: History, summary: TurnSummary, decision: Decision) -> Decision:
    """The decision after all stop conditions, which win over it."""
    hard = hard_stop(spec, summary)
    if hard:
        return overridden(decision, Action.STOP, f"hard stop: {hard}")
    if why := unsafe(spec, history, summary, decision):
        return overridden(decision, Action.PAUSE, f"{UNSAFE}{why}")
    soft = soft_stop(spec, history, summary)
    if soft and not _ends(history, summary, decision):
        is_error = bool(history.errors)
        if is_error and _wants_review(spec, history, summary, ReviewWhen.ERROR):
            return overridden(decision, Action.REVIEW, f"soft stop: {soft}")
        return overridden(decision, Action.PAUSE, f"soft stop: {soft}")
    if decision.confidence < spec.min_confidence and decision.action is not Action.PAUSE:
        low = f"confidence {decision.confidence:g} is below {spec.min_confidence:g}"
        return overridden(decision, Action.PAUSE, low)
    if decision.action is Action.STOP and _wants_review(spec, history, summary, ReviewWhen.END):
        return overridden(decision, Action.REVIEW, "its work is reviewed before the end")
    return decision


def _ends(history: History, summary: TurnSummary, decision: Decision) -> bool:
    """Whether the decision ends the thread, or is the review before the end."""
    if decision.action is Action.REVIEW:
        return summary.said.signal is Signal.COMPLETE and history.reviewed != summary.footprint
    return decision.action is not Action.CONTINUE


def overridden(decision: Decision, action: Action, condition: str) -> Decision:
    """The decision with another action and the condition that caused it."""
    was = decision.action if decision.action is not action else None
    return msgspec.structs.replace(decision, action=action, overridden=was, condition=condition)
