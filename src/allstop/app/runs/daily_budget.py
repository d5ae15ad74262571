"""The daily budget of a project: today's usage, its limits, and raising them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from allstop.app.agents.token_caps import describe_budgets
from allstop.app.runs import budget_limits
from allstop.app.runs.status import helm_of
from allstop.core.commands import Raise
from allstop.core.daily_budget import is_limited, near_limit
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded
from allstop.core.ids import HELM
from allstop.core.text import counted, money, token_count
from allstop.engine.daily_budget import DailyBudget
from allstop.ports import Entry

if TYPE_CHECKING:
    from allstop.app.project import Project


class Today(Struct, frozen=True, kw_only=True):
    """A turn counts for the day on which it started; minutes count from the first turn on."""

    begins_at: datetime
    ends_at: datetime
    turns: int
    tokens: int
    cost_usd: float
    minutes: float
    reserved_tokens: int  # by running turns
    reserved_usd: float
    max_turns: int | None
    max_tokens: int | None
    max_usd: float | None
    max_minutes: float | None
    near: str  # the limit that is reached or nearly so, in words
    at_limit: str  # pause or stop
    partial: bool = False  # more was used, or spent, than agents reported
    holds: str  # how exactly the token and cost budgets hold, in words


class More(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits for the rest of the day; a missing one stays as it is."""

    turns: Annotated[int, Meta(ge=1)] | None = None
    tokens: Annotated[int, Meta(ge=1)] | None = None
    cost_usd: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    minutes: Annotated[float, Meta(gt=0, le=1440)] | None = None


async def today(project: Project, days: DailyBudget | None = None) -> Today:
    """A caller that has read the day already passes it as `days`."""
    days = days or DailyBudget(project.journal, budget_limits.day_limits(project))
    now = project.clock.now()
    helm = await helm_of(project)
    day = await days.catch_up(now)
    used, most = days.used(), days.limits_at(now, helm)
    return Today(
        begins_at=day.begins_at,
        ends_at=day.ends_at,
        turns=used.spent.turns,
        tokens=used.spent.tokens,
        cost_usd=used.spent.cost_microusd / 1e6,
        partial=used.spent.partial,
        minutes=round(used.seconds(now) / 60, 1),
        reserved_tokens=used.reserved.tokens,
        reserved_usd=used.reserved.cost_microusd / 1e6,
        max_turns=most.turns,
        max_tokens=most.tokens,
        max_usd=None if most.cost_microusd is None else most.cost_microusd / 1e6,
        max_minutes=None if most.time_s is None else most.time_s / 60,
        near=near_limit(most, used, now),
        at_limit=most.at_limit.value,
        holds=describe_budgets(project) if is_limited(most) else "",
    )


async def allow_more(
    project: Project, more: More, by: str, days: DailyBudget | None = None
) -> Today:
    """Raise today's limits. Runs that wait for it continue at once, in every process.

    Raises AllstopError if no limit is given.
    """
    if more == More():
        hint = "give one of turns, tokens, cost, minutes"
        raise AllstopError("no limit is given", hint, code="limit_missing")
    days = days or DailyBudget(project.journal, budget_limits.day_limits(project))
    most = budget_limits.apply_changes(
        days.limits_at(project.clock.now(), await helm_of(project)), more
    )
    commanded = Commanded(at=project.clock.now(), command=Raise(limits=most), by=by)
    await project.journal.append(Entry(HELM, commanded))
    return await today(project, days)


def _cost(day: Today) -> str:
    return f"{'cost ' if day.partial else ''}{money(day.cost_usd, partial=day.partial)}"


def day_lines(day: Today) -> list[str]:
    """For a terminal."""
    tokens = token_count(day.tokens, partial=day.partial)
    used = f"{counted(day.turns, 'turn')} · {tokens} · {_cost(day)}"
    lines = [f"Today: {used} · {day.minutes:,.0f} minutes since the first turn"]
    rows = (
        ("turns", f"{day.turns:,}", day.max_turns and f"{day.max_turns:,}"),
        ("tokens", f"{day.tokens:,}", day.max_tokens and f"{day.max_tokens:,}"),
        ("cost", money(day.cost_usd, partial=day.partial), day.max_usd and f"${day.max_usd:.2f}"),
        ("minutes", f"{day.minutes:,.0f}", day.max_minutes and f"{day.max_minutes:,.0f}"),
    )
    lines += [f"  {name:<8} {used} of {most}" for name, used, most in rows if most]
    if day.reserved_tokens:
        reserved = f"{day.reserved_tokens:,} tokens, ${day.reserved_usd:.2f}"
        lines.append(f"  reserved by turns under way: {reserved}")
    if day.holds:
        lines.append(f"Budgets of tokens and cost {day.holds}. At a limit: {day.at_limit}.")
    else:
        lines.append("There is no daily limit; [budget.day] sets one.")
    return lines
