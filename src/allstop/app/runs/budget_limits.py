"""The limits of [budget]: of each run, of each task, and of a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from allstop.core.brakes import Limits
from allstop.core.errors import AllstopError

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.settings.model import Allowance


def run_limits(project: Project) -> Limits:
    return _limits(project, project.settings.budget)


def task_limits(project: Project) -> Limits:
    """Of all attempts at it together; what happens at one of them is said by the run's."""
    return replace(_limits(project, project.settings.budget.task), at_limit=Limits().at_limit)


def day_limits(project: Project) -> Limits:
    """Of all runs of the store together."""
    return _limits(project, project.settings.budget.day)


def _limits(project: Project, given: Allowance) -> Limits:
    return Limits(
        turns=given.turns,
        tokens=given.tokens,
        cost_microusd=None if given.cost_usd is None else int(given.cost_usd * 1_000_000),
        time_s=None if given.minutes is None else given.minutes * 60.0,
        at_limit=project.settings.budget.at_limit,
    )


class LimitChanges(Protocol):
    """Limits that somebody names; what is None stays as it is."""

    @property
    def turns(self) -> int | None: ...
    @property
    def tokens(self) -> int | None: ...
    @property
    def cost_usd(self) -> float | None: ...
    @property
    def minutes(self) -> float | None: ...


HIGHEST_LIMIT = 10**15
"""More than anybody could use, and little enough to be reckoned with."""


def apply_changes(limits: Limits, wish: LimitChanges) -> Limits:
    """
    Raises:
        AllstopError: what is wished for is no amount.
    """
    for value in (wish.turns, wish.tokens, wish.cost_usd, wish.minutes):
        if value is not None and not value <= HIGHEST_LIMIT:  # as what is no number isn't either
            raise AllstopError(f"a limit is at most {HIGHEST_LIMIT:,}", "leave out what has none")
    cost = None if wish.cost_usd is None else int(wish.cost_usd * 1_000_000)
    return replace(
        limits,
        turns=limits.turns if wish.turns is None else wish.turns,
        tokens=limits.tokens if wish.tokens is None else wish.tokens,
        cost_microusd=limits.cost_microusd if cost is None else cost,
        time_s=limits.time_s if wish.minutes is None else wish.minutes * 60.0,
    )
