"""Limits by [budget]: for each run, each task and each day."""

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
    """For all attempts together. What happens at a limit is decided by the run's limits."""
    return replace(_limits(project, project.settings.budget.task), at_limit=Limits().at_limit)


def sprint_limits(project: Project, cost_usd: float | None = None) -> Limits:
    """For all that the board uses during a sprint; `cost_usd` is a person's own cost limit."""
    limits = _limits(project, project.settings.budget.sprint)
    return limits if cost_usd is None else replace(limits, cost_microusd=int(cost_usd * 1_000_000))


def day_limits(project: Project) -> Limits:
    """For all runs of the project together."""
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
    """Limits that a person sets; None keeps the current one."""

    @property
    def turns(self) -> int | None: ...
    @property
    def tokens(self) -> int | None: ...
    @property
    def cost_usd(self) -> float | None: ...
    @property
    def minutes(self) -> float | None: ...


HIGHEST_LIMIT = 10**15
"""Keeps arithmetic on limits within range."""


def apply_changes(limits: Limits, changes: LimitChanges) -> Limits:
    """Raises AllstopError if a limit is too high, or not a number."""
    for value in (changes.turns, changes.tokens, changes.cost_usd, changes.minutes):
        if value is not None and not value <= HIGHEST_LIMIT:  # true for NaN, too
            message = f"a limit is at most {HIGHEST_LIMIT:,}"
            raise AllstopError(message, "leave it out for no limit", code="limit_too_high")
    cost = None if changes.cost_usd is None else int(changes.cost_usd * 1_000_000)
    return replace(
        limits,
        turns=limits.turns if changes.turns is None else changes.turns,
        tokens=limits.tokens if changes.tokens is None else changes.tokens,
        cost_microusd=limits.cost_microusd if cost is None else cost,
        time_s=limits.time_s if changes.minutes is None else changes.minutes * 60.0,
    )
