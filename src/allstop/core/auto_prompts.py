"""What an agent in Full Auto is told, and what a model that decides is asked. Words are data."""

from __future__ import annotations

from collections.abc import Sequence

from allstop.core import guidance_prompts
from allstop.core.auto import AutoSpec, AutoState, Decision, History, ModelDecision, TurnSummary
from allstop.core.moves import ChecksDone
from allstop.core.plain import ending
from allstop.core.prompting import Part, Talk
from allstop.core.prompts import CAPPED as CAPPED
from allstop.core.prompts import SIGNALS, failed_gate
from allstop.core.prompts import told as told
from allstop.core.signatures import schema_of

REVIEW = """\
Look at all that you have changed so far as a strict reviewer would, who did not write it: against
the goal, for mistakes, for what is missing and for what nobody asked for. Fix what you find."""


def words(state: AutoState) -> str:
    spec = state.spec
    lead = guidance_prompts.lead(state.guide) if state.turns == 0 else ""
    if state.turns == 0 and not state.told and not state.news:
        return first(spec, lead)
    if state.reviews:
        return review(spec, state.told)
    return going_on(spec, state.news or lead, state.told, state.step)


def own_review(state: AutoState) -> str:
    """What an agent with a review of its own does in place of the words."""
    if not state.reviews or state.told or not state.base:
        return ""
    return review_by_itself(state.spec, state.base)


def first(spec: AutoSpec, guidance: str) -> str:
    parts = [spec.goal.strip(), guidance, SIGNALS]
    return "\n\n".join(part for part in parts if part) + "\n"


def going_on(spec: AutoSpec, news: str, said: Sequence[str], step: str) -> str:
    """The goal is said again each time, so that it can't drift; only the next step is free."""
    parts = [
        f"The goal is still:\n{spec.goal.strip()}",
        *map(told, said),
        news,
        f"Next step: {step}" if step else "Go on with the next step towards it.",
        SIGNALS,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def review(spec: AutoSpec, said: Sequence[str]) -> str:
    parts = [f"The goal is still:\n{spec.goal.strip()}", *map(told, said), REVIEW, SIGNALS]
    return "\n\n".join(parts) + "\n"


def review_by_itself(spec: AutoSpec, base: str) -> str:
    """For an agent with a review of its own, which knows nothing of the conversation."""
    return f"""\
Review all that was changed in this repository since the commit {base}; `git diff {base}` shows it.
Look at it as a strict reviewer would: against the goal, for mistakes, for what is missing and for
what nobody asked for. Change nothing.

The goal:
{spec.goal.strip()}
"""


def reviewed(text: str) -> str:
    return f"A review of your work says:\n{ending(text, 8000)}\n\nFix what is right in it."


def gate_failed(gate: ChecksDone) -> str:
    return failed_gate(gate)


DECIDER = """\
You watch over a coding agent that works by itself, turn after turn. After each turn you decide:
continue (with the next step), pause (a person must look), stop (the goal is reached) or review
(the agent shall look at its own work). Pause when you are not sure. You never do the work yourself.
Answer with one JSON object: action, reason (one sentence), confidence (0 to 1), next_input (the
next step in one or two sentences; only with continue)."""


def decide(
    spec: AutoSpec, history: History, summary: TurnSummary, before: Sequence[Decision]
) -> Talk:
    recent = "\n".join(
        f"turn {d.turn}: {d.action}, {d.reason} ({d.confidence:g})" for d in before[-5:]
    )
    change = summary.change
    lines = [
        f"Turn {summary.turn}: {summary.status}" + (f", {summary.error}" if summary.error else ""),
        f"Plan:\n{ending(summary.plan, 2000)}" if summary.plan else "Plan: none was told",
        f"Changed so far: {change.files} files, {change.commits} commits" if change else "No files",
        f"Tokens of this turn: {summary.usage.tokens:,}",
        f"Compactions so far: {len(history.compactions)}",
        f"Decisions before:\n{recent}" if recent else "",
        f"What it said last:\n{ending(summary.text, 4000)}",
    ]
    return Talk(
        system=DECIDER,
        parts=(
            Part(text=f"The goal:\n{spec.goal.strip()}"),
            Part(text="\n\n".join(line for line in lines if line)),
        ),
        reply_schema=schema_of(ModelDecision),
    )
