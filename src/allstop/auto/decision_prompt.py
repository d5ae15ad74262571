"""The prompt of the model that decides after a turn. Records hash it: don't change the words."""

from collections.abc import Iterator, Sequence

from allstop.auto.state import AutoState, Decision, ModelDecision, TurnSummary
from allstop.auto.structured_output import schema_of
from allstop.core import brakes
from allstop.core.moves import Change
from allstop.core.prompt import Part, StructuredPrompt
from allstop.core.run import PilotContext
from allstop.core.text import last_chars

DECIDER = """\
You watch over a coding agent that works by itself, turn after turn. After each turn you decide:
continue (with the next step), pause (a person must look), stop (the goal is reached) or review
(the agent shall look at its own work). Pause when you are not sure. You never do the work yourself.
Answer with one JSON object: action, reason (one sentence), confidence (0 to 1), next_input (the
next step in one or two sentences; only with continue)."""

MOST_DENIED = 5


def decide(state: AutoState, summary: TurnSummary, context: PilotContext) -> StructuredPrompt:
    lines = _lines(state, summary, context) if state.spec.edition >= 2 else _first(state, summary)
    return StructuredPrompt(
        system=DECIDER,
        parts=(
            Part(text=f"The goal:\n{state.spec.goal.strip()}"),
            Part(text="\n\n".join(line for line in lines if line)),
        ),
        reply_schema=schema_of(ModelDecision),
    )


def _lines(state: AutoState, summary: TurnSummary, context: PilotContext) -> Iterator[str]:
    thread = f"thread {summary.thread}" if summary.thread else "no thread"
    turn = f"Turn {summary.turn} (move {summary.move} of the record, {thread})"
    yield f"{turn}: {summary.status}{_error(summary)}"
    yield _plan(summary)
    yield _changed(summary.change) if summary.change else "No files"
    yield _listed("It asked, and nobody has answered", (*summary.unanswered, *summary.pending))
    yield _listed("It was denied", summary.denied[-MOST_DENIED:])
    yield _listed("What it did last", summary.did)
    used = summary.usage
    yield f"Tokens of this turn: {used.input:,} in ({used.cached:,} cached), {used.output:,} out"
    yield f"Used so far: {_used(context)}"
    turns = ", ".join(map(str, state.history.compactions))
    yield f"Compactions so far: {len(state.history.compactions)}" + (
        f" (in turn {turns})" if turns else ""
    )
    yield _before(state.decisions)
    yield _said(summary)


def _changed(change: Change) -> str:
    """The changed files, without their lines."""
    head = f"Changed so far: {change.files} files, {change.commits} commits"
    more = change.files - len(change.sketch)
    files = [*change.sketch, *([f"and {more} more"] if change.sketch and more > 0 else [])]
    guarded = tuple(f"{path} {why}" for path, why in change.guarded.items())
    listed = "\n".join([head, *files])
    return "\n\n".join(filter(None, [listed, _listed("Of these a person has to know", guarded)]))


def _used(context: PilotContext) -> str:
    """The usage so far, with limits where there are any."""
    limits, tally = context.limits, context.tally
    minutes = brakes.elapsed_seconds(context.now - (context.opened_at or context.now)) / 60
    most_minutes = limits.time_s / 60 if limits.time_s is not None else None
    cost = limits.cost_microusd
    return ", ".join(
        [
            _of(f"{tally.turns:,}", limits.turns and f"{limits.turns:,}", "turns"),
            _of(f"{tally.tokens:,}", limits.tokens and f"{limits.tokens:,}", "tokens"),
            _of(f"${tally.cost_microusd / 1e6:.2f}", cost and f"${cost / 1e6:.2f}", ""),
            _of(f"{int(minutes)}", most_minutes and f"{most_minutes:.0f}", "minutes"),
        ]
    )


def _of(used: str, most: str | float | None, unit: str) -> str:
    return f"{used} of {most} {unit}".rstrip() if most else f"{used} {unit}".rstrip()


def _listed(head: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{head}:", *(f"- {line}" for line in lines)]) if lines else ""


def _first(state: AutoState, summary: TurnSummary) -> Iterator[str]:
    """The prompt of the first edition."""
    change = summary.change
    yield f"Turn {summary.turn}: {summary.status}{_error(summary)}"
    yield _plan(summary)
    yield (
        f"Changed so far: {change.files} files, {change.commits} commits" if change else "No files"
    )
    yield f"Tokens of this turn: {summary.usage.tokens:,}"
    yield f"Compactions so far: {len(state.history.compactions)}"
    yield _before(state.decisions)
    yield _said(summary)


def _error(summary: TurnSummary) -> str:
    return f", {summary.error}" if summary.error else ""


def _plan(summary: TurnSummary) -> str:
    return f"Plan:\n{last_chars(summary.plan, 2000)}" if summary.plan else "Plan: none was told"


def _before(decisions: Sequence[Decision]) -> str:
    recent = [f"turn {d.turn}: {d.action}, {d.reason} ({d.confidence:g})" for d in decisions[-5:]]
    return "\n".join(["Decisions before:", *recent]) if recent else ""


def _said(summary: TurnSummary) -> str:
    return f"What it said last:\n{last_chars(summary.text, 4000)}"
