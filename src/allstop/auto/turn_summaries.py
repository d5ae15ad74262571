"""A turn's summary as people give it: alone, with its goal, or as a line of receipts."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from allstop.auto.state import TurnSummary
from allstop.core.errors import AllstopError

HINT = 'it needs JSON such as {"goal": "…", "summary": {"turn": 1, "status": "completed"}}'


class Given(NamedTuple):
    goal: str
    summary: TurnSummary | None


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    goal: str = ""
    summary: TurnSummary | None = None


def read_summary(text: bytes, goal: str) -> Given:
    """`goal` wins over the text's own.

    Raises:
        AllstopError: there is no goal, or the text is no summary.
    """
    found = _read(text) if text.strip() else _Document()
    goal = (goal or found.goal).strip()
    if not goal:
        raise AllstopError("there is no goal", "give one with --goal")
    return Given(goal, found.summary)


def _read(text: bytes) -> _Document:
    try:
        raw = msgspec.json.decode(text, type=dict[str, object])
        if "status" in raw:
            return _Document(summary=msgspec.convert(raw, TurnSummary))
        return msgspec.convert(raw, _Document)
    except (msgspec.DecodeError, RecursionError) as error:
        raise AllstopError(f"that is no summary of a turn: {error}", HINT) from None
