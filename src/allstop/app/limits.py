"""The limits of [budget]: of each run, of each task, and of a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from allstop.core.brakes import AtLimit, Limits

if TYPE_CHECKING:
    from allstop.app.house import House
    from allstop.settings.model import Allowance


def of_run(house: House) -> Limits:
    return _limits(house, house.settings.budget)


def of_task(house: House) -> Limits:
    """Of all attempts at it together; what happens at one of them is said by the run's."""
    return replace(_limits(house, house.settings.budget.task), at_limit=Limits().at_limit)


def of_day(house: House) -> Limits:
    """Of all runs of the store together."""
    return _limits(house, house.settings.budget.day)


def _limits(house: House, given: Allowance) -> Limits:
    return Limits(
        turns=given.turns,
        tokens=given.tokens,
        cost_microusd=None if given.cost_usd is None else int(given.cost_usd * 1_000_000),
        time_s=None if given.minutes is None else given.minutes * 60.0,
        at_limit=AtLimit(house.settings.budget.at_limit.value),
    )
