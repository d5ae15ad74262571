"""Limits on a run, and what they say about going on."""

from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import NamedTuple

from msgspec import Struct

from allstop.core.budget import UNCAPPED, Cap

SOFT_SHARE = 0.8
"""Where a limit starts to be mentioned."""


class AtLimit(StrEnum):
    PAUSE = "pause"  # ask a person; raising the limit goes on
    STOP = "stop"


class Limits(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The most a run may use; None means no limit."""

    turns: int | None = None
    tokens: int | None = None
    cost_microusd: int | None = None
    time_s: float | None = None  # since the run was opened
    busy_s: float | None = None  # in moves: waiting for people or for a rate limit is free
    at_limit: AtLimit = AtLimit.STOP


class Tally(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What a run has used, its children included."""

    turns: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    cost_microusd: int = 0
    busy_s: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input + self.output

    def plus(self, other: "Tally") -> "Tally":
        return Tally(
            turns=self.turns + other.turns,
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            cost_microusd=self.cost_microusd + other.cost_microusd,
            busy_s=self.busy_s + other.busy_s,
        )


class Grip(IntEnum):
    OFF = 0
    SOFT = 1
    HARD = 2


HARD = Grip.HARD


class Verdict(NamedTuple):
    grip: Grip
    reason: str = ""


OFF = Verdict(Grip.OFF)


def check(limits: Limits, tally: Tally, opened_at: datetime, now: datetime) -> Verdict:
    """The strictest verdict any one limit gives."""
    worst = OFF
    if limits.turns is not None:
        worst = _stricter(worst, _gauge("turns", tally.turns, limits.turns))
    if limits.tokens is not None:
        worst = _stricter(worst, _gauge("tokens", tally.tokens, limits.tokens))
    if limits.cost_microusd is not None:
        worst = _stricter(worst, _gauge("cost", tally.cost_microusd, limits.cost_microusd))
    if limits.time_s is not None:
        elapsed_s = (now - opened_at).total_seconds()
        worst = _stricter(worst, _gauge("seconds", elapsed_s, limits.time_s))
    if limits.busy_s is not None:
        worst = _stricter(worst, _gauge("seconds of work", tally.busy_s, limits.busy_s))
    return worst


def room_for(limits: Limits, tally: Tally, max_tokens: int) -> Verdict:
    """Whether a turn that may use `max_tokens` still fits: it is reserved, not hoped for."""
    if limits.tokens is None or tally.tokens + max_tokens <= limits.tokens:
        return OFF
    return Verdict(
        Grip.HARD,
        f"tokens: {tally.tokens:,} used, {max_tokens:,} reserved, {limits.tokens:,} allowed",
    )


def seconds_left(limits: Limits, tally: Tally, opened_at: datetime, now: datetime) -> float | None:
    """How long a move may last before a limit in time is reached."""
    if limits.time_s is None and limits.busy_s is None:
        return None
    left = []
    if limits.time_s is not None:
        left.append(limits.time_s - (now - opened_at).total_seconds())
    if limits.busy_s is not None:
        left.append(limits.busy_s - tally.busy_s)
    return max(0.0, min(left))


def _gauge(name: str, used: float, most: float) -> Verdict:
    if used == most == 0:
        return Verdict(Grip.HARD, f"{name}: nothing is left")
    if used >= most:
        return Verdict(Grip.HARD, f"{name}: {_amount(name, used)} of {_amount(name, most)}")
    if used >= most * SOFT_SHARE:
        return Verdict(Grip.SOFT, f"{name}: {_amount(name, used)} of {_amount(name, most)}")
    return OFF


def _amount(name: str, value: float) -> str:
    return f"${value / 1e6:.2f}" if name == "cost" else f"{value:,.0f}"


def _stricter(one: Verdict, other: Verdict) -> Verdict:
    return other if other.grip > one.grip else one


def cap_of(limits: Limits) -> Cap:
    """As far as they are limits on a sum that several share."""
    if limits.turns is limits.tokens is limits.cost_microusd is None:
        return UNCAPPED
    return Cap(turns=limits.turns, tokens=limits.tokens, cost_microusd=limits.cost_microusd)


def has_sums(limits: Limits) -> bool:
    """Whether there is a limit that a turn under way could pass."""
    return limits.tokens is not None or limits.cost_microusd is not None


def seconds_in(span: timedelta) -> float:
    """A clock that was set back never gives time back."""
    return max(0.0, span.total_seconds())


def is_stuck(texts: tuple[str, ...], repeats: int) -> bool:
    """True when the last `repeats` texts are the same."""
    tail = texts[-repeats:]
    return len(tail) == repeats and len(set(tail)) == 1
