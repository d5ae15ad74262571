"""Where a thread of Full Auto must not go on by itself: a person has to look first."""

from __future__ import annotations

from msgspec.structs import replace

from allstop.auto.state import Action, AutoSpec, AutoState, Decision, History, TurnSummary
from allstop.core.asks import NEVER, NOBODY_TO_ASK
from allstop.core.moves import FailureKind
from allstop.core.signals import Signal
from allstop.core.text import one_line

UNSAFE = "unsafe: "
"""How such a condition begins."""


def unsafe(spec: AutoSpec, history: History, summary: TurnSummary, decision: Decision) -> str:
    """Why a person has to look before this is carried out; nothing where nobody has to.

    What they have looked at is not held against it again.
    """
    if spec.edition < 2 or history.looked_at == summary.turn or decision.action is Action.PAUSE:
        return ""
    return (
        _without_sandbox(summary)
        or _still_asking(summary)
        or _denied_often(spec, summary)
        or _steering(spec, history, summary)
        or _ending_unfinished(spec, summary, decision)
    )


def lacks_sandbox(spec: AutoSpec, summary: TurnSummary) -> bool:
    """A person can mend that: it is no reason to give up."""
    return spec.edition >= 2 and summary.kind is FailureKind.UNSAFE


def looked_at(state: AutoState) -> History:
    """A person lets it go on: what they were called for is known to them from now on."""
    history = state.history.forgiven()
    if not is_unsafe(state.decision) or state.summary is None:
        return history
    files = state.summary.change.guarded if state.summary.change else {}
    known = tuple(dict.fromkeys((*history.vouched, *files)))
    return replace(history, looked_at=state.summary.turn, vouched=known)


def is_unsafe(decision: Decision | None) -> bool:
    return decision is not None and decision.condition.startswith(UNSAFE)


def let_go_on(decision: Decision, by: str) -> Decision:
    """What had been decided, now that somebody has looked."""
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


def _still_asking(summary: TurnSummary) -> str:
    """It may have gone on as if it had been allowed."""
    if not summary.pending:
        return ""
    return f"the turn ended before anybody had answered: {one_line(summary.pending[0], 200)}"


def _denied_often(spec: AutoSpec, summary: TurnSummary) -> str:
    """Once is a mistake; who tries on looks for a way around."""
    tried = [each for each in summary.denied if not each.startswith(NOBODY_TO_ASK)]
    tried = [each for each in tried if not each.endswith(f"({NEVER})")]
    if len(tried) < spec.repeated_errors:
        return ""
    return f"rules denied what it tried {len(tried)} times, at last {one_line(tried[-1], 200)}"


def _steering(spec: AutoSpec, history: History, summary: TurnSummary) -> str:
    """Hooks, CI, agents and keys: what reaches further than the work itself."""
    if not spec.guards_files or summary.change is None:
        return ""
    files = summary.change.guarded
    new = [path for path in files if not _is_known(spec, history, path)]
    if not new:
        return ""
    more = f", and {len(new) - 1} more such files" if len(new) > 1 else ""
    return f"the work changes {one_line(new[0], 200)}, which {files[new[0]]}{more}"


def _is_known(spec: AutoSpec, history: History, path: str) -> bool:
    """A person has been asked about it, or has named it themselves."""
    if any(known == path or known.endswith(f"/{path}") for known in history.vouched):
        return True
    goal = "" if spec.guide else spec.goal  # which guidance may have put in other words
    name = path.rpartition("/")[2]
    return path in goal or ("." in name and name in goal)


def _ending_unfinished(spec: AutoSpec, summary: TurnSummary, decision: Decision) -> str:
    """A model can't overrule what the agent says of its own work, and have that merged."""
    says = {Signal.BLOCKED: "is blocked", Signal.PENDING: "asks"}.get(summary.said.signal)
    if decision.action is not Action.STOP or says is None:
        return ""
    return f"it would be over although {spec.agent} {says}: {one_line(summary.said.text, 200)}"
