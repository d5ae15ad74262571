"""A draft: a plan that an agent writes with a person; its spec, its state, and the agent's reply."""

import re
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from allstop.core.accounts import Roster
from allstop.core.board_specs import AgentTerms, agents_sharing_account
from allstop.core.gate import Gate
from allstop.core.ids import AgentName
from allstop.core.moves import FailureKind, Outcome
from allstop.core.retries import NO_STREAK, Backoff, LimitPatience, LimitStreak
from allstop.plans.plan import Plan, Problem
from allstop.plans.plan_file import read_plan

MOST_QUESTIONS = 5
CORRECTIONS = 3
"""So often a plan that can't be used goes back to the agent."""


class DraftSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    goal: str
    name: str  # of its workspace; also the seed of the retries' jitter
    target: str
    agents: tuple[AgentName, ...]  # the first works; the others replace it while it is limited
    terms: dict[AgentName, AgentTerms] = {}
    asks: bool = False  # a person may be asked; otherwise the agent states assumptions
    ask_s: float | None = None  # how long a request of a tool waits for a person
    corrections: int = CORRECTIONS
    backoff: Backoff = Backoff()
    patience: LimitPatience = LimitPatience()
    gate: Gate = Gate()
    edition: int = 1  # of the prompts and rules, those of `plan_file` included

    def terms_of(self, agent: AgentName) -> AgentTerms:
        return self.terms.get(agent, AgentTerms())

    def agents_sharing_account(self, agent: AgentName) -> tuple[AgentName, ...]:
        return agents_sharing_account(agent, self.agents, self.terms)


class OpenQuestion(Struct, frozen=True, gc=False, kw_only=True):
    """A question of the agent; without an answer the agent decides and states an assumption."""

    text: str
    answer: str | None = None  # None: it waits for a person; "": it was left to the agent


class DraftState(Struct, frozen=True, gc=False, kw_only=True):
    spec: DraftSpec
    roster: Roster
    base: str = ""
    gate: Gate | None = None  # the target's gate when the workspace was last opened
    agent: AgentName = AgentName("")  # of the last turn
    thread: str | None = None
    turns: int = 0
    in_turn: bool = False
    questions: tuple[OpenQuestion, ...] = ()
    told: tuple[str, ...] = ()  # messages of people
    heard: int = 0  # how many of them the current turn has received
    text: str = ""  # the plan as the agent wrote it last
    problems: tuple[Problem, ...] = ()  # what is wrong with it
    is_ready: bool = False  # the plan can be used
    corrected: int = 0  # how often a plan went back
    failures: int = 0  # failed turns in a row
    news: str = ""
    wait_until: datetime | None = None
    waits_for: str = ""
    standstill: LimitStreak = NO_STREAK
    paused: str = ""
    paused_by: FailureKind | None = None
    is_discarded: bool = False  # the workspace is gone
    end: Outcome | None = None
    note: str = ""

    @property
    def waiting(self) -> tuple[OpenQuestion, ...]:
        """The questions that wait for a person."""
        return tuple(each for each in self.questions if each.answer is None)

    @property
    def left_open(self) -> tuple[OpenQuestion, ...]:
        """The questions that the agent must answer by an assumption."""
        return tuple(each for each in self.questions if each.answer == "")


# --- the agent's reply ---

_ITEM = re.compile(r"\s*(?:\d{1,3}[.)]|[-*+])\s+(.*)")


def plan_in(reply: str) -> str | None:
    """The text of the plan in a reply; None if there is none."""
    text = _between(reply, "<plan>", "</plan>")
    if text is None:
        return None
    first, _, rest = text.partition("\n")
    if first.startswith("```") and rest.rstrip().endswith(
        "\n```"
    ):  # the whole plan as a code block
        text = rest.rstrip().removesuffix("```")
    return text.strip() + "\n"


def questions_in(reply: str) -> tuple[str, ...]:
    """The questions in a reply, each on one line."""
    text = _between(reply, "<questions>", "</questions>")
    found: list[str] = []
    for line in (text or "").splitlines():
        if item := _ITEM.match(line):
            found.append(item[1].strip())
        elif found and line.strip():
            found[-1] = f"{found[-1]} {line.strip()}"
        elif line.strip():
            found.append(line.strip())
    return tuple(each for each in found if each)


def _between(text: str, opening: str, closing: str) -> str | None:
    """What stands between the last pair of these marks."""
    end = text.rfind(closing)
    start = text.rfind(opening, 0, end) if end >= 0 else -1
    return text[start + len(opening) : end].strip() if start >= 0 else None


def draft_problems(text: str, assumed: int) -> tuple[Problem, ...]:
    """What is wrong with a drafted plan: what `plan check` finds, then the rules for drafts.

    It must state as many assumptions as there are questions that nobody answered.
    """
    found = read_plan("plan.md", text.encode(errors="replace"))
    return found.problems or tuple(_problems(found.plan, assumed))


def _problems(plan: Plan, assumed: int) -> Iterator[Problem]:
    steps = [step for _, step in plan.steps()]
    stated = len(assumptions(plan))
    if stated < assumed:
        yield Problem(
            line=1,
            problem=f"the plan states {stated} of {assumed} assumptions",
            expected="a line `Assumption: …` below the title for each question without an answer",
        )
    if not any(step.check for step in steps):
        yield Problem(
            line=1, problem="no step has a check", expected="`- check: COMMAND` below a step"
        )
    for step in steps:
        if not step.criteria:
            yield Problem(
                line=step.line,
                problem=f"the step {step.id} has no acceptance criterion",
                expected="`- [ ] …` below it",
            )
        if step.done:
            yield Problem(
                line=step.line,
                problem=f"the step {step.id} is ticked, but nothing is done yet",
                expected="no tick",
            )


def assumptions(plan: Plan) -> tuple[str, ...]:
    """The assumptions that a plan states in the text below its title."""
    lines = (line.strip() for line in plan.text.splitlines())
    return tuple(line for line in lines if line.lower().startswith("assumption:"))
