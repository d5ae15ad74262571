"""Safety pauses of Full Auto: conditions that a person must review before the thread continues."""

from msgspec.structs import replace

from allstop.auto.state import Action, AutoSpec, AutoState, Decision, History, TurnSummary
from allstop.core.asks import NEVER, NOBODY_TO_ASK
from allstop.core.moves import FailureKind
from allstop.core.signals import Signal
from allstop.core.text import one_line

UNSAFE = "unsafe: "
"""Prefix of these conditions."""


def unsafe(spec: AutoSpec, history: History, summary: TurnSummary, decision: Decision) -> str:
    """Why a person must review this decision first; "" if not needed.

    A reviewed condition doesn't pause the thread again.
    """
    if spec.edition < 2 or history.looked_at == summary.turn or decision.action is Action.PAUSE:
        return ""
    return (
        _without_sandbox(summary)
        or _request_pending(summary)
        or _denied_often(spec, summary)
        or _guarded_file_changed(spec, history, summary)
        or _stops_unfinished(spec, summary, decision)
    )


def lacks_sandbox(spec: AutoSpec, summary: TurnSummary) -> bool:
    """Whether the sandbox is missing, which a person can repair: no hard stop."""
    return spec.edition >= 2 and summary.kind is FailureKind.UNSAFE


def history_after_review(state: AutoState) -> History:
    """The history after a person resumed the thread: reviewed files are remembered."""
    history = state.history.forgiven()
    if not is_unsafe(state.decision) or state.summary is None:
        return history
    files = state.summary.change.guarded if state.summary.change else {}
    known = tuple(dict.fromkeys((*history.vouched, *files)))
    return replace(history, looked_at=state.summary.turn, vouched=known)


def is_unsafe(decision: Decision | None) -> bool:
    return decision is not None and decision.condition.startswith(UNSAFE)


def resumed_decision(decision: Decision, by: str) -> Decision:
    """The stored decision, resumed by a person."""
    return replace(
        decision,
        action=decision.overridden or decision.action,
        overridden=None,
        condition="",
        by=f"{decision.by}, after a look by {by}",
    )


def _without_sandbox(summary: TurnSummary) -> str:
    if summary.kind is not FailureKind.UNSAFE:
        return ""
    return one_line(summary.error, 300)


def _request_pending(summary: TurnSummary) -> str:
    """The agent may have continued without an answer."""
    if not summary.pending:
        return ""
    return f"the turn ended before anybody had answered: {one_line(summary.pending[0], 200)}"


def _denied_often(spec: AutoSpec, summary: TurnSummary) -> str:
    """Repeated denials: the agent may look for a way around the rules."""
    tried = [each for each in summary.denied if not each.startswith(NOBODY_TO_ASK)]
    tried = [each for each in tried if not each.endswith(f"({NEVER})")]
    if len(tried) < spec.repeated_errors:
        return ""
    return f"rules denied what it tried {len(tried)} times, at last {one_line(tried[-1], 200)}"


def _guarded_file_changed(spec: AutoSpec, history: History, summary: TurnSummary) -> str:
    """Changed files that control hooks, CI or agents, or hold keys."""
    if not spec.guards_files or summary.change is None:
        return ""
    files = summary.change.guarded
    new = [path for path in files if not _is_known(spec, history, path)]
    if not new:
        return ""
    more = f", and {len(new) - 1} more such files" if len(new) > 1 else ""
    return f"the work changes {one_line(new[0], 200)}, which {files[new[0]]}{more}"


def _is_known(spec: AutoSpec, history: History, path: str) -> bool:
    """Whether a person approved the file or named it in the goal."""
    if any(known == path or known.endswith(f"/{path}") for known in history.vouched):
        return True
    goal = "" if spec.guide else spec.goal  # guidance may have rewritten the goal
    name = path.rpartition("/")[2]
    return path in goal or ("." in name and name in goal)


def _stops_unfinished(spec: AutoSpec, summary: TurnSummary, decision: Decision) -> str:
    """A model can't stop and merge while the agent says it is blocked or asks."""
    says = {Signal.BLOCKED: "is blocked", Signal.PENDING: "asks"}.get(summary.said.signal)
    if decision.action is not Action.STOP or says is None:
        return ""
    return f"it would be over although {spec.agent} {says}: {one_line(summary.said.text, 200)}"
