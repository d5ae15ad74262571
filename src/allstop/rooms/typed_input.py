"""What a person means by what they type in a room."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from allstop.core.commands import is_allstop
from allstop.core.room_specs import ROUTER, TalkMode

_TO_ROUTER = re.compile(rf"\s*@{ROUTER}\b\s*(.*)", re.IGNORECASE | re.DOTALL)
_START = re.compile(r"(\w+)\b([^:]*):(.*)", re.DOTALL)
_MODES = {"collaborate": TalkMode.COLLABORATE, "autopilot": TalkMode.AUTOPILOT}

HOW = "@router collaborate gpt claude: GOAL, or @router autopilot gpt claude: GOAL"


class StopWord(NamedTuple):
    """The session ends now."""


class Begin(NamedTuple):
    mode: TalkMode
    agents: tuple[str, ...]
    goal: str


class Words(NamedTuple):
    text: str


class Unclear(NamedTuple):
    problem: str
    hint: str = HOW


Typed: TypeAlias = StopWord | Begin | Words | Unclear


def understand(text: str) -> Typed:
    if is_allstop(text):
        return StopWord()
    to_router = _TO_ROUTER.fullmatch(text)
    if to_router is None:
        return Words(text.strip()) if text.strip() else Unclear("there are no words in it", "")
    return _for_router(to_router[1].strip())


def _for_router(order: str) -> Typed:
    if is_allstop(order):
        return StopWord()
    found = _START.fullmatch(order)
    if found is None or found[1].lower() not in _MODES:
        return Unclear(f"the router does not understand {order[:60]!r}")
    agents = tuple(re.split(r"[\s,]+", found[2].strip())) if found[2].strip() else ()
    agents = tuple(name.removeprefix("@") for name in agents)
    if not found[3].strip():
        return Unclear("there is no goal after the colon")
    return Begin(_MODES[found[1].lower()], agents, found[3].strip())
