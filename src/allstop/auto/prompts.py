"""Prompts of the agent in Full Auto. Records hash them: don't change the words."""

from collections.abc import Sequence

from allstop.auto import guidance_prompts
from allstop.auto.state import AutoSpec, AutoState
from allstop.core.text import last_chars
from allstop.core.work_prompts import CAPPED as CAPPED
from allstop.core.work_prompts import SIGNALS
from allstop.core.work_prompts import failed_gate as failed_gate
from allstop.core.work_prompts import from_person as from_person

REVIEW = """\
Look at all that you have changed so far as a strict reviewer would, who did not write it: against
the goal, for mistakes, for what is missing and for what nobody asked for. Fix what you find."""

NOTHING_FOUND = """
If nothing needs a change, end your explanation with this line:
<promise>COMPLETE</promise>
"""

TAKEN_OVER = "Another agent worked on this before you. Its work is in the workspace: read it before you change it."
"""Before the prompt of an agent that continues the work of another one."""


def words(state: AutoState) -> str:
    spec = state.spec
    lead = guidance_prompts.lead(state.guide) if state.turns == 0 else ""
    if state.turns == 0 and not state.told and not state.news:
        return first(spec, lead)
    if state.reviews:
        return review(spec, state.told)
    return going_on(spec, state.news or lead, state.told, state.step)


def own_review(state: AutoState) -> str:
    """The prompt for agents that have their own review command; "" for other turns."""
    if not state.reviews or state.told or not state.base:
        return ""
    return review_by_itself(state.spec, state.base)


def first(spec: AutoSpec, guidance: str) -> str:
    parts = [spec.goal.strip(), guidance, SIGNALS]
    return "\n\n".join(part for part in parts if part) + "\n"


def going_on(spec: AutoSpec, news: str, said: Sequence[str], step: str) -> str:
    """Every prompt repeats the goal, so that it can't drift; only the next step changes."""
    parts = [
        f"The goal is still:\n{spec.goal.strip()}",
        *map(from_person, said),
        news,
        f"Next step: {step}" if step else "Go on with the next step towards it.",
        SIGNALS,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def review(spec: AutoSpec, said: Sequence[str]) -> str:
    parts = [f"The goal is still:\n{spec.goal.strip()}", *map(from_person, said), REVIEW, SIGNALS]
    return "\n\n".join(parts) + "\n"


def review_by_itself(spec: AutoSpec, base: str) -> str:
    """For an agent's own review command, which doesn't see the conversation."""
    ending = NOTHING_FOUND if spec.edition >= 5 else ""
    return f"""\
Review all that was changed in this repository since the commit {base}; `git diff {base}` shows it.
Look at it as a strict reviewer would: against the goal, for mistakes, for what is missing and for
what nobody asked for. Change nothing.

The goal:
{spec.goal.strip()}
{ending}"""


def reviewed(text: str) -> str:
    return f"A review of your work says:\n{last_chars(text, 8000)}\n\nFix what is right in it."
