"""Prompts of a draft's agent. Records hash them: a change of the words is a new edition."""

from allstop.core.text import last_chars
from allstop.core.work_prompts import from_person
from allstop.plans.draft import MOST_QUESTIONS, DraftState

SHOWN_CHARS = 50_000
SHOWN_PROBLEMS = 20

PLACE = """\
Look at the repository in your working directory first. Change nothing in it: whatever you change
there is thrown away. Only the plan in your final message counts."""

ASK = f"""\
If the repository doesn't say something that would change the plan, ask a person first. Then end your
message with at most {MOST_QUESTIONS} short questions, and without a plan:
<questions>
1. Which …?
</questions>"""

ASSUME = """\
Nobody can answer questions. Where something is open, decide it yourself, and state each decision as a
line `Assumption: …` below the plan's title."""

FORM = """\
End your final message with the plan, in this form:
<plan>
# Title

What an agent must know at every step, in a few sentences and without a list.

## Name of the first phase

- What is to be done in the first step, so that an agent can do it in one turn
  - [ ] what must be true afterwards
  - check: a command that succeeds only if it is

## Name of the second phase

- What is to be done next
  - [ ] what must be true afterwards
</plan>
Headings are phases, and list items below them are steps. Every step has acceptance criteria. Give a
step a check where a command can show that it is done; the last check runs the project's tests."""


def words(state: DraftState) -> str:
    parts = [
        f"Write a plan for this goal. Do not carry it out.\n\n{state.spec.goal.strip()}",
        PLACE,
        _gate(state),
        _answered(state),
        _left_open(state),
        _asking(state),
        *map(from_person, state.told),
        _last_plan(state),
        state.news,
        FORM,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _gate(state: DraftState) -> str:
    checks = (state.gate or state.spec.gate).checks
    commands = "\n".join(f"  {check.run}" for check in checks)
    about = "These commands verify the project. They run after the last step too:"
    return f"{about}\n{commands}" if checks else ""


def _asking(state: DraftState) -> str:
    if state.questions:
        return "Ask nothing more."
    return ASK if state.spec.asks else ASSUME


def _answered(state: DraftState) -> str:
    answered = [each for each in state.questions if each.answer]
    lines = [f"- {each.text}\n  Answer: {each.answer}" for each in answered]
    return "\n".join(["You asked, and a person answered:", *lines]) if lines else ""


def _left_open(state: DraftState) -> str:
    lines = [f"- {each.text}" for each in state.left_open]
    if not lines:
        return ""
    asked = (
        "Nobody answers these questions of yours. Decide them yourself, and state each decision as a"
        " line `Assumption: …` below the plan's title:"
    )
    return "\n".join([asked, *lines])


def _last_plan(state: DraftState) -> str:
    if not state.text:
        return ""
    shown = f"Your last plan was:\n<plan>\n{last_chars(state.text, SHOWN_CHARS).strip()}\n</plan>"
    if not state.problems:
        return f"{shown}\n\nGive the whole plan again."
    lines = [f"- line {each.line}: {each}" for each in state.problems[:SHOWN_PROBLEMS]]
    again = "It can't be used yet. Correct this, and give the whole plan again:"
    return "\n".join([shown, "", again, *lines])
