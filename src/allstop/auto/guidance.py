"""Guidance: what is found out and planned before an agent in Full Auto takes a turn.

Each stage is a signature. A model answers it; where there is none, or it fails, the rules do.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from allstop.core.ids import AgentName
from allstop.core.moves import Surveyed
from allstop.core.text import one_line

KEPT = 50
"""How many steps are remembered; all of them are in the record."""

Confidence = Annotated[float, Meta(ge=0, le=1, description="How sure you are.")]
Line = Annotated[str, Meta(min_length=1, max_length=500)]
Lines = Annotated[tuple[Line, ...], Meta(max_length=20)]


class GuideSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    agent: AgentName | None = None  # whose model answers; None: the rules
    max_tokens: int | None = None
    permissions: tuple[str, ...] = ()  # what the agent that works may do, in words
    rehearses: bool = False  # it ends where the agent would begin


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
    """What people see of a stage."""

    turn: int  # the last one before it
    stage: Stage
    by: str
    text: str
    confidence: float = 1.0


class Guide(Struct, frozen=True, gc=False, kw_only=True):
    """How far guidance is, and what it knows."""

    is_super: bool = False  # nobody said what to do, only to do it
    ahead: tuple[Stage, ...] = ()
    survey: Surveyed | None = None
    understanding: Understanding | None = None
    plan: Planning | None = None
    directive: Directive | None = None
    reason: str = ""
    confidence: float = 1.0  # the least of this round
    steps: tuple[Step, ...] = ()


_GO = frozenset(["begin", "continue", "do", "go", "going", "make", "proceed", "run", "start"])
_BESIDE = frozenset(
    [
        "a",
        "ahead",
        "and",
        "away",
        "for",
        "it",
        "just",
        "keep",
        "let",
        "lets",
        "me",
        "now",
        "ok",
        "okay",
        "on",
        "please",
        "right",
        "so",
        "then",
        "thing",
        "well",
        "work",
        "yes",
        "your",
    ]
)


def is_go(message: str) -> bool:
    """Whether it says to do something, but not what: "go", "just do it"."""
    words = re.findall(r"\w+", message.lower().replace("'", "").replace("’", ""))
    return 0 < len(words) <= 6 and any(w in _GO for w in words) and set(words) <= _GO | _BESIDE


def begun(goal: str, *, has_repository: bool) -> Guide:
    """Before the first turn."""
    if not is_go(goal):
        return Guide(ahead=(Stage.ROUTE,))
    ahead = (Stage.UNDERSTAND, Stage.PLAN, Stage.DIRECT)
    return Guide(is_super=True, ahead=(Stage.RESEARCH, *ahead) if has_repository else ahead)


def again(guide: Guide, *, is_news: bool) -> Guide:
    """After a turn; `is_news`: the repository is no longer what was looked at."""
    ahead = (Stage.RESEARCH, Stage.DIRECT) if is_news else (Stage.DIRECT,)
    return replace(guide, ahead=ahead, directive=None, reason="", confidence=1.0)


def surveyed(guide: Guide, found: Surveyed, turn: int) -> Guide:
    names = ", ".join(file.path for file in found.files)
    text = f"{len(found.paths) + found.more} names at {found.commit[:10]}"
    text += f"; read {names}" if names else ""
    step = Step(turn=turn, stage=Stage.RESEARCH, by="git", text=text)
    return _stepped(replace(guide, survey=found), step)


def not_surveyed(guide: Guide, why: str, turn: int) -> Guide:
    step = Step(turn=turn, stage=Stage.RESEARCH, by="git", text=f"nothing: {why}")
    return _stepped(replace(guide, survey=None), step)


def answered(guide: Guide, answer: Answer, by: str, turn: int) -> Guide:
    """One stage further."""
    stage = guide.ahead[0]
    step = Step(turn=turn, stage=stage, by=by, text=shown(answer), confidence=answer.confidence)
    guide = _stepped(guide, step)
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


def shown(answer: Answer) -> str:
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


def _stepped(guide: Guide, step: Step) -> Guide:
    return replace(guide, ahead=guide.ahead[1:], steps=(*guide.steps[1 - KEPT :], step))


# --- the rules ---

_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$", re.MULTILINE)
_HEADING = re.compile(r"^#\s+(.+)$", re.MULTILINE)
_OPEN_STEP = re.compile(r"^\[[ >]\]\s*(.+)$", re.MULTILINE)

SURE = 0.9
"""Of rules: enough to go on with where nothing else is asked for."""

STEPS = (
    "Look at the files that matter for this.",
    "Make the smallest change that does it.",
    "Run the checks and mend what they find.",
)
NEXT = "Do the next thing that the goal still needs, and check it."


def by_rules(guide: Guide, goal: str, told_plan: str) -> Answer:
    """What the rules make of the stage that is next; they need no model."""
    items = tuple(one_line(item, 500) for item in _ITEM.findall(goal)[:12])
    match guide.ahead[0]:
        case Stage.ROUTE:
            return _routed(goal, len(items))
        case Stage.UNDERSTAND:
            task = _task(guide.survey) if guide.is_super else goal.strip()[:2000]
            return Understanding(task=task, requirements=items, confidence=SURE)
        case Stage.PLAN:
            return Planning(steps=items or STEPS, confidence=SURE)
        case _:
            return _directed(guide, told_plan)


def _routed(goal: str, items: int) -> Routing:
    if items > 1:
        reason = f"it lists {items} things"
        return Routing(route=Route.PLAN, reason=reason, confidence=SURE)
    if len(goal.split()) < 4:
        reason = "it is too short to be clear"
        return Routing(route=Route.UNDERSTAND, reason=reason, confidence=SURE)
    return Routing(route=Route.RESPOND, reason="it is one thing", confidence=SURE)


def _task(survey: Surveyed | None) -> str:
    files = survey.files if survey else ()
    readme = next((file.text for file in files if "readme" in file.path.lower()), "")
    found = _HEADING.search(readme)
    name = one_line(found[1], 80) if found else "this repository"
    return (
        f"Find out what {name} needs most, by its documentation, its open ends and its checks;"
        " then do that one thing."
    )


def _directed(guide: Guide, told_plan: str) -> Directive:
    if found := _OPEN_STEP.search(told_plan):
        reason = "it is the next open step of the agent's own plan"
        return Directive(directive=one_line(found[1], 500), reason=reason, confidence=SURE)
    is_first = not any(step.stage is Stage.DIRECT for step in guide.steps)
    if guide.plan and is_first:
        reason = "it is the first step of the plan"
        return Directive(directive=guide.plan.steps[0], reason=reason, confidence=SURE)
    return Directive(directive=NEXT, reason="the goal is not reached", confidence=SURE)
