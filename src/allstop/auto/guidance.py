"""Guidance: research, understanding, plan and directive before an agent's turn in Full Auto.

Each stage is a signature that a model answers. Without a model, or if it fails, rules answer.
The docstrings of the signatures are part of the prompts.
"""

import re
from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from allstop.core.ids import AgentName
from allstop.core.moves import Surveyed
from allstop.core.text import one_line

KEPT = 50
"""Number of remembered steps; the journal has all of them."""

Confidence = Annotated[float, Meta(ge=0, le=1, description="How sure you are.")]
Line = Annotated[str, Meta(min_length=1, max_length=500)]
Lines = Annotated[tuple[Line, ...], Meta(max_length=20)]


class GuideSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    agent: AgentName | None = None  # the agent whose model answers; None: the rules
    max_tokens: int | None = None
    permissions: tuple[str, ...] = ()  # permissions of the working agent, as sentences
    rehearses: bool = False  # end before the agent's first turn


class Stage(StrEnum):
    ROUTE = "route"
    RESEARCH = "research"
    UNDERSTAND = "understanding"
    PLAN = "plan"
    DIRECT = "directive"


class Route(StrEnum):
    RESPOND = "respond"
    UNDERSTAND = "understand"
    PLAN = "plan"


class _Signature(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    confidence: Confidence


class Routing(_Signature, frozen=True):
    """Say what a message to a coding agent needs first: respond (nothing, it is clear), understand
    (what is wanted must be worked out) or plan (it is clear, and takes several steps)."""

    route: Route
    reason: Line


class Understanding(_Signature, frozen=True):
    """Work out what is wanted: the task, what the result must fulfil, and what only the person
    could answer. Invent no requirements. Be unsure where a wrong guess would do harm."""

    task: Annotated[str, Meta(min_length=1, max_length=2000)]
    requirements: Lines = ()
    questions: Lines = ()


class Planning(_Signature, frozen=True):
    """Plan the task in a few steps, each of which can be done and checked by itself."""

    steps: Annotated[tuple[Line, ...], Meta(min_length=1, max_length=12)]


class Directive(_Signature, frozen=True):
    """Tell the coding agent what to do in its next turn: one step towards the goal, within what it
    may do, and with what will show that it is done. Never repeat a step that has failed."""

    directive: Annotated[str, Meta(min_length=1, max_length=2000)]
    reason: Line


Answer: TypeAlias = Routing | Understanding | Planning | Directive

SIGNATURES: dict[Stage, type[Answer]] = {
    Stage.ROUTE: Routing,
    Stage.UNDERSTAND: Understanding,
    Stage.PLAN: Planning,
    Stage.DIRECT: Directive,
}


class Step(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A finished stage, as shown to people."""

    turn: int  # the last turn before the stage
    stage: Stage
    by: str
    text: str
    confidence: float = 1.0


class Guide(Struct, frozen=True, gc=False, kw_only=True):
    """The remaining stages of guidance and its results."""

    is_super: bool = False  # the goal only says "go"
    ahead: tuple[Stage, ...] = ()
    survey: Surveyed | None = None
    understanding: Understanding | None = None
    plan: Planning | None = None
    directive: Directive | None = None
    reason: str = ""
    confidence: float = 1.0  # the lowest of this round
    steps: tuple[Step, ...] = ()


_GO = frozenset(["begin", "continue", "do", "go", "going", "make", "proceed", "run", "start"])
_BESIDE = frozenset({
    "a", "ahead", "and", "away", "for", "it", "just", "keep", "let", "lets", "me", "now", "ok",
    "okay", "on", "please", "right", "so", "then", "thing", "well", "work", "yes", "your",
})  # fmt: skip


def is_go(message: str) -> bool:
    """Whether a message only says to start, without a task: "go", "just do it"."""
    words = re.findall(r"\w+", message.lower().replace("'", "").replace("’", ""))
    return 0 < len(words) <= 6 and any(w in _GO for w in words) and set(words) <= _GO | _BESIDE


def initial_guide(goal: str, *, has_repository: bool) -> Guide:
    """The stages before the first turn."""
    if not is_go(goal):
        return Guide(ahead=(Stage.ROUTE,))
    ahead = (Stage.UNDERSTAND, Stage.PLAN, Stage.DIRECT)
    return Guide(is_super=True, ahead=(Stage.RESEARCH, *ahead) if has_repository else ahead)


def next_round(guide: Guide, *, is_news: bool) -> Guide:
    """The stages after a turn; `is_news` means that the repository has changed."""
    ahead = (Stage.RESEARCH, Stage.DIRECT) if is_news else (Stage.DIRECT,)
    return replace(guide, ahead=ahead, directive=None, reason="", confidence=1.0)


def surveyed(guide: Guide, found: Surveyed, turn: int) -> Guide:
    names = ", ".join(file.path for file in found.files)
    text = f"{len(found.paths) + found.more} names at {found.commit[:10]}"
    text += f"; read {names}" if names else ""
    step = Step(turn=turn, stage=Stage.RESEARCH, by="git", text=text)
    return _next_stage(replace(guide, survey=found), step)


def not_surveyed(guide: Guide, why: str, turn: int) -> Guide:
    step = Step(turn=turn, stage=Stage.RESEARCH, by="git", text=f"nothing: {why}")
    return _next_stage(replace(guide, survey=None), step)


def answered(guide: Guide, answer: Answer, by: str, turn: int) -> Guide:
    """Store the answer of a stage and go to the next one."""
    stage = guide.ahead[0]
    step = Step(
        turn=turn, stage=stage, by=by, text=answer_text(answer), confidence=answer.confidence
    )
    guide = _next_stage(guide, step)
    guide = replace(guide, confidence=min(guide.confidence, answer.confidence))
    match answer:
        case Routing(route=Route.UNDERSTAND, reason=reason):
            return replace(guide, ahead=(Stage.UNDERSTAND,), reason=reason)
        case Routing(route=Route.PLAN, reason=reason):
            return replace(guide, ahead=(Stage.PLAN,), reason=reason)
        case Routing(reason=reason):
            return replace(guide, reason=reason)
        case Understanding(questions=questions):
            asks = f"it asks: {questions[0]}" if questions else guide.reason
            return replace(guide, understanding=answer, reason=asks)
        case Planning():
            return replace(guide, plan=answer)
        case Directive(reason=reason):
            return replace(guide, directive=answer, reason=reason)


def answer_text(answer: Answer) -> str:
    match answer:
        case Routing(route=route, reason=reason):
            return f"{route}: {reason}"
        case Understanding(task=task, requirements=requirements, questions=questions):
            asks = [f"asks: {question}" for question in questions]
            return "; ".join([task, *requirements, *asks])
        case Planning(steps=steps):
            return "; ".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
        case Directive(directive=directive):
            return directive


def _next_stage(guide: Guide, step: Step) -> Guide:
    return replace(guide, ahead=guide.ahead[1:], steps=(*guide.steps[1 - KEPT :], step))


# --- the rules ---

_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$", re.MULTILINE)
_HEADING = re.compile(r"^#\s+(.+)$", re.MULTILINE)
_OPEN_STEP = re.compile(r"^\[[ >]\]\s*(.+)$", re.MULTILINE)

SURE = 0.9
"""The confidence of rules: above the default min_confidence."""

STEPS = (
    "Look at the files that matter for this.",
    "Make the smallest change that does it.",
    "Run the checks and mend what they find.",
)
NEXT = "Do the next thing that the goal still needs, and check it."


def by_rules(guide: Guide, goal: str, told_plan: str) -> Answer:
    """The rules' answer to the next stage."""
    items = tuple(one_line(item, 500) for item in _ITEM.findall(goal)[:12])
    match guide.ahead[0]:
        case Stage.ROUTE:
            return _route_by_rules(goal, len(items))
        case Stage.UNDERSTAND:
            task = _task_by_rules(guide.survey) if guide.is_super else goal.strip()[:2000]
            return Understanding(task=task, requirements=items, confidence=SURE)
        case Stage.PLAN:
            return Planning(steps=items or STEPS, confidence=SURE)
        case _:
            return _directive_by_rules(guide, told_plan)


def _route_by_rules(goal: str, items: int) -> Routing:
    if items > 1:
        reason = f"it lists {items} things"
        return Routing(route=Route.PLAN, reason=reason, confidence=SURE)
    if len(goal.split()) < 4:
        reason = "it is too short to be clear"
        return Routing(route=Route.UNDERSTAND, reason=reason, confidence=SURE)
    return Routing(route=Route.RESPOND, reason="it is one thing", confidence=SURE)


def _task_by_rules(survey: Surveyed | None) -> str:
    files = survey.files if survey else ()
    readme = next((file.text for file in files if "readme" in file.path.lower()), "")
    found = _HEADING.search(readme)
    name = one_line(found[1], 80) if found else "this repository"
    return (
        f"Find out what {name} needs most, by its documentation, its open ends and its checks;"
        " then do that one thing."
    )


def _directive_by_rules(guide: Guide, told_plan: str) -> Directive:
    if found := _OPEN_STEP.search(told_plan):
        reason = "it is the next open step of the agent's own plan"
        return Directive(directive=one_line(found[1], 500), reason=reason, confidence=SURE)
    is_first = not any(step.stage is Stage.DIRECT for step in guide.steps)
    if guide.plan and is_first:
        reason = "it is the first step of the plan"
        return Directive(directive=guide.plan.steps[0], reason=reason, confidence=SURE)
    return Directive(directive=NEXT, reason="the goal is not reached", confidence=SURE)
