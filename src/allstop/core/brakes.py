"""Limits on a run, its usage, and whether a limit is near or reached."""

from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import NamedTuple

from msgspec import Struct

from allstop.core.budget import UNCAPPED, Cap

SOFT_SHARE = 0.8
"""A limit is near from this share of it."""


class AtLimit(StrEnum):
    PAUSE = "pause"  # wait for a person, who may raise the limit
    STOP = "stop"


class Limits(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The most a run may use; None means no limit."""

    turns: int | None = None
    tokens: int | None = None
    cost_microusd: int | None = None
    time_s: float | None = None  # since the run was opened
    busy_s: float | None = None  # time in moves; waiting for people or limits doesn't count
    at_limit: AtLimit = AtLimit.STOP


class Tally(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The usage of a run, its children included."""

    turns: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    cost_microusd: int = 0
    busy_s: float = 0.0
    partial: bool = False  # more was used, or spent, than agents reported
    failed_turns: int = 0  # not in `turns`

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
            partial=self.partial or other.partial,
            failed_turns=self.failed_turns + other.failed_turns,
        )


class BrakeLevel(IntEnum):
    OFF = 0
    SOFT = 1
    HARD = 2


HARD = BrakeLevel.HARD


class LimitStatus(NamedTuple):
    level: BrakeLevel
    reason: str = ""


WITHIN_LIMITS = LimitStatus(BrakeLevel.OFF)


def check(limits: Limits, tally: Tally, opened_at: datetime, now: datetime) -> LimitStatus:
    """The status of the limit that is closest to being reached."""
    worst = WITHIN_LIMITS
    if limits.turns is not None:
        worst = _stricter(worst, _check_one("turns", tally.turns, limits.turns))
    if limits.tokens is not None:
        worst = _stricter(worst, _check_one("tokens", tally.tokens, limits.tokens))
    if limits.cost_microusd is not None:
        worst = _stricter(worst, _check_one("cost", tally.cost_microusd, limits.cost_microusd))
    if limits.time_s is not None:
        elapsed_s = (now - opened_at).total_seconds()
        worst = _stricter(worst, _check_one("seconds", elapsed_s, limits.time_s))
    if limits.busy_s is not None:
        worst = _stricter(worst, _check_one("seconds of work", tally.busy_s, limits.busy_s))
    return worst


def check_reservation(limits: Limits, tally: Tally, max_tokens: int) -> LimitStatus:
    """Whether a turn that may use `max_tokens` fits into the limit."""
    if limits.tokens is None or tally.tokens + max_tokens <= limits.tokens:
        return WITHIN_LIMITS
    return LimitStatus(
        BrakeLevel.HARD,
        f"tokens: {tally.tokens:,} used, {max_tokens:,} reserved, {limits.tokens:,} allowed",
    )


def seconds_left(limits: Limits, tally: Tally, opened_at: datetime, now: datetime) -> float | None:
    """How long a move may take until a time limit is reached."""
    if limits.time_s is None and limits.busy_s is None:
        return None
    left = []
    if limits.time_s is not None:
        left.append(limits.time_s - (now - opened_at).total_seconds())
    if limits.busy_s is not None:
        left.append(limits.busy_s - tally.busy_s)
    return max(0.0, min(left))


def _check_one(name: str, used: float, most: float) -> LimitStatus:
    if used == most == 0:
        return LimitStatus(BrakeLevel.HARD, f"{name}: nothing is left")
    if used < most * SOFT_SHARE:
        return WITHIN_LIMITS
    level = BrakeLevel.HARD if used >= most else BrakeLevel.SOFT
    return LimitStatus(level, f"{name}: {_amount(name, used)} of {_amount(name, most)}")


def _amount(name: str, value: float) -> str:
    return f"${value / 1e6:.2f}" if name == "cost" else f"{value:,.0f}"


def _stricter(one: LimitStatus, other: LimitStatus) -> LimitStatus:
    return other if other.level > one.level else one


def cap_of(limits: Limits) -> Cap:
    """The limits that several runs can share: turns, tokens and cost."""
    if limits.turns is limits.tokens is limits.cost_microusd is None:
        return UNCAPPED
    return Cap(turns=limits.turns, tokens=limits.tokens, cost_microusd=limits.cost_microusd)


def limits_spending(limits: Limits) -> bool:
    """Whether a running turn could exceed one of the limits."""
    return limits.tokens is not None or limits.cost_microusd is not None


def elapsed_seconds(span: timedelta) -> float:
    """At least 0, also if the clock was set back."""
    return max(0.0, span.total_seconds())


def is_stuck(texts: tuple[str, ...], repeats: int) -> bool:
    """True when the last `repeats` texts are the same."""
    tail = texts[-repeats:]
    return len(tail) == repeats and len(set(tail)) == 1
