"""Parses a person's typed input in a room: a message, a stop word or a command to the router."""

import re
from typing import NamedTuple, TypeAlias

from allstop.core.commands import is_allstop
from allstop.core.room_specs import ROUTER, TalkMode

_TO_ROUTER = re.compile(rf"\s*@{ROUTER}\b\s*(.*)", re.IGNORECASE | re.DOTALL)
_START = re.compile(r"(\w+)\b([^:]*):(.*)", re.DOTALL)
_MODES = {"collaborate": TalkMode.COLLABORATE, "autopilot": TalkMode.AUTOPILOT}

USAGE = "@router collaborate gpt claude: GOAL, or @router autopilot gpt claude: GOAL"


class StopWord(NamedTuple):
    """Stop the session now."""


class StartRequest(NamedTuple):
    mode: TalkMode
    agents: tuple[str, ...]
    goal: str


class Message(NamedTuple):
    text: str


class InvalidInput(NamedTuple):
    problem: str
    hint: str = USAGE


Typed: TypeAlias = StopWord | StartRequest | Message | InvalidInput


def parse_input(text: str) -> Typed:
    if is_allstop(text):
        return StopWord()
    to_router = _TO_ROUTER.fullmatch(text)
    if to_router is None:
        return Message(text.strip()) if text.strip() else InvalidInput("the message is empty", "")
    return _for_router(to_router[1].strip())


def _for_router(order: str) -> Typed:
    if is_allstop(order):
        return StopWord()
    found = _START.fullmatch(order)
    if found is None or found[1].lower() not in _MODES:
        return InvalidInput(f"unknown router command {order[:60]!r}")
    agents = tuple(re.split(r"[\s,]+", found[2].strip())) if found[2].strip() else ()
    agents = tuple(name.removeprefix("@") for name in agents)
    if not found[3].strip():
        return InvalidInput("the goal after the colon is missing")
    return StartRequest(_MODES[found[1].lower()], agents, found[3].strip())
