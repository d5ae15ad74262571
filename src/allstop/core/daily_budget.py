"""The daily budget: a local day, what its turns reserved and used, and which limit is near."""

from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple

from msgspec import Struct

from allstop.core.brakes import SOFT_SHARE, Limits, cap_of
from allstop.core.budget import NOTHING, UNCAPPED, Amount
from allstop.core.events import MoveStarted
from allstop.core.moves import Billable, Result, TakeTurn, is_turn

NAME = "today"


class Day(NamedTuple):
    """From one local midnight to the next, which can be 23 or 25 hours later."""

    begins_at: datetime
    ends_at: datetime

    def has(self, at: datetime) -> bool:
        return self.begins_at <= at < self.ends_at


def day_of(at: datetime, zone: tzinfo | None) -> Day:
    """The day that contains `at`; without a zone, in the machine's time zone."""
    today = at.astimezone(zone).date()
    return Day(_midnight(today, zone), _midnight(today + timedelta(days=1), zone))


def _midnight(day: date, zone: tzinfo | None) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


class DayUsage(Struct, frozen=True, gc=False, kw_only=True):
    """What all runs used on one day. A turn counts for the day on which it began."""

    spent: Amount = NOTHING
    reserved: Amount = NOTHING
    first_at: datetime | None = None  # when the first turn of the day began

    def seconds(self, now: datetime) -> float:
        """Seconds since the first turn of the day: the day's time limit counts from there."""
        return 0.0 if self.first_at is None else max(0.0, (now - self.first_at).total_seconds())


def is_limited(limits: Limits) -> bool:
    return limits.time_s is not None or cap_of(limits) is not UNCAPPED


def near_limit(limits: Limits, used: DayUsage, now: datetime) -> str:
    """The first limit that is nearly reached, as text; "" if none is."""
    dollars = None if limits.cost_microusd is None else limits.cost_microusd / 1e6
    minutes = None if limits.time_s is None else limits.time_s / 60
    gauges = (
        ("turns", used.spent.turns, limits.turns, "{:,.0f}"),
        ("tokens", used.spent.tokens, limits.tokens, "{:,.0f}"),
        ("cost", used.spent.cost_microusd / 1e6, dollars, "${:.2f}"),
        ("minutes", used.seconds(now) / 60, minutes, "{:,.0f}"),
    )
    for name, have, most, form in gauges:
        if most is not None and have >= SOFT_SHARE * most:
            return f"{NAME}: {name}: {form.format(have)} of {form.format(most)}"
    return ""


def price(move: TakeTurn, cost_microusd: int) -> Amount:
    """The reservation of a turn: one turn, its maximum tokens and their maximum cost."""
    return Amount(turns=1, tokens=move.most_tokens or 0, cost_microusd=cost_microusd)


def reserved_by(started: MoveStarted) -> Amount:
    """The reservation of a recorded turn."""
    move = started.move
    return price(move, started.cost_microusd) if isinstance(move, TakeTurn) else NOTHING


def spent(result: Result) -> Amount:
    if not isinstance(result, Billable):
        return Amount()
    usage = result.usage
    return Amount(
        turns=int(is_turn(result)),
        tokens=usage.tokens,
        cost_microusd=usage.cost_microusd,
        partial=usage.partial,
    )
