"""Reads turn summaries from JSON: alone, with a goal, or as a line of receipts."""

from typing import NamedTuple

import msgspec

from allstop.auto.state import TurnSummary
from allstop.core.errors import AllstopError

HINT = 'use JSON such as {"goal": "…", "summary": {"turn": 1, "status": "completed"}}'


class GoalAndSummary(NamedTuple):
    goal: str
    summary: TurnSummary | None


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    goal: str = ""
    summary: TurnSummary | None = None


def read_summary(text: bytes, goal: str) -> GoalAndSummary:
    """Parse a summary. `goal` wins over the goal in the text.

    Raises AllstopError if the goal is missing, or the text isn't a summary.
    """
    found = _read(text) if text.strip() else _Document()
    goal = (goal or found.goal).strip()
    if not goal:
        raise AllstopError("the goal is missing", "set it with --goal", code="goal_missing")
    return GoalAndSummary(goal, found.summary)


def _read(text: bytes) -> _Document:
    try:
        raw = msgspec.json.decode(text, type=dict[str, object])
        if "status" in raw:
            return _Document(summary=msgspec.convert(raw, TurnSummary))
        return msgspec.convert(raw, _Document)
    except (msgspec.DecodeError, RecursionError) as error:
        message = f"the text isn't a turn summary: {error}"
        raise AllstopError(message, HINT, code="turn_summary_invalid") from None
