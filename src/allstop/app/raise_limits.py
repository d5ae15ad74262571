"""Allowing a run more than it had, so that it goes on where it waits at its limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from allstop.app.runs.budget_limits import apply_changes
from allstop.app.runs.commands import deliver_command
from allstop.app.runs.status import record_of
from allstop.core import bounds, brakes
from allstop.core import run as runs
from allstop.core.brakes import BrakeLevel, Limits
from allstop.core.commands import Raise
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, root_of
from allstop.core.text import counted

if TYPE_CHECKING:
    from datetime import datetime

    from allstop.app.project import Project
    from allstop.app.runs.status import RunRecord
    from allstop.core.run import RunState


class Allowance(Struct, frozen=True, kw_only=True):
    """Limits of a whole run; what is not given stays as it is."""

    times: float | None = None
    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    minutes: float | None = None


class Limit(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="command", tag="limit"
):
    """Other limits, or so many times what it had: of a run, which goes on; of a task, from its next attempt on."""

    times: Annotated[float, Meta(gt=1, le=100)] | UnsetType = UNSET
    iterations: Annotated[int, Meta(ge=1, le=bounds.COUNT)] | UnsetType = UNSET
    minutes: Annotated[float, Meta(gt=0, le=bounds.MINUTES)] | UnsetType = UNSET
    turns: Annotated[int, Meta(ge=1)] | UnsetType = UNSET  # these of a run only
    tokens: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    cost_usd: Annotated[float, Meta(gt=0, le=1_000_000)] | UnsetType = UNSET

    @property
    def allowance(self) -> Allowance:
        """As far as it is about a run."""
        given = {name: getattr(self, name) for name in Allowance.__struct_fields__}
        return Allowance(**{name: value for name, value in given.items() if value is not UNSET})


class RaisedLimits(Struct, frozen=True, kw_only=True):
    run: RunId
    note: str
    driven: bool
    held: bool  # a person paused or stopped it: more budget does not lift that


async def is_run(project: Project, name: str) -> bool:
    """Whether a run has that very name; a task has another than its attempts."""
    return project.has_store and bool(await project.records.read(RunId(name)))


async def raise_run(project: Project, name: str, more: Allowance, by: str) -> RaisedLimits:
    """Give a run other limits; whoever drives it goes on at once.

    Raises:
        AllstopError: it is over, that is not enough, or it would be forgotten.
    """
    recorded = await record_of(project, name)
    state = runs.fold(recorded.pilot, recorded.events)
    if root_of(recorded.run) == BOARD and BOARD not in project.journal.holders():
        hint = "`allstop run` goes on by [budget], `allstop run --budget USD` with so much more"
        raise AllstopError("nobody drives the board", hint)
    limits = raised_limits(state, more, project.clock.now())
    spoken = await deliver_command(project, recorded.run, Raise(limits=limits), by)
    held = state.hold is not Hold.NONE
    return RaisedLimits(run=recorded.run, note=_describe(limits), driven=spoken.driven, held=held)


def raised_limits(state: RunState[Any], more: Allowance, now: datetime) -> Limits:
    """The limits it would have.

    Raises:
        AllstopError: none is named, it has none to multiply, or it would still be at one.
    """
    before = state.limits
    if more == Allowance():
        raise AllstopError("no limit is named", "one of times, turns, tokens, cost, minutes")
    limits = before if more.times is None else _multiply(state, more.times, now)
    limits = apply_changes(limits, more)
    verdict = brakes.check(limits, state.tally, state.opened.at, now)
    if verdict.level is BrakeLevel.HARD:
        raise AllstopError(f"it would still be at its limit: {verdict.reason}", "allow it more")
    return limits


def _multiply(state: RunState[Any], times: float, now: datetime) -> Limits:
    """So many times what it had, or has used by now where that is more."""
    limits, used = state.limits, state.tally
    if limits == Limits(at_limit=limits.at_limit):
        raise AllstopError("it has no limit of its own", "`allstop today` has those of the day")
    elapsed_s = (now - state.opened.at).total_seconds()

    def whole(most: int | None, have: int) -> int | None:
        return None if most is None else math.ceil(max(most, have, 1) * times)

    def seconds(most: float | None, have: float) -> float | None:
        return None if most is None else max(most, have, 1.0) * times

    return replace(
        limits,
        turns=whole(limits.turns, used.turns),
        tokens=whole(limits.tokens, used.tokens),
        cost_microusd=whole(limits.cost_microusd, used.cost_microusd),
        time_s=seconds(limits.time_s, elapsed_s),
        busy_s=seconds(limits.busy_s, used.busy_s),
    )


async def apply_settings_limits(
    project: Project, recorded: RunRecord, limits: Limits | None, by: str
) -> None:
    """A run that waits at its limit gets the limits of the settings, if these allow more."""
    state, now = runs.fold(recorded.pilot, recorded.events), project.clock.now()
    if limits is None or state.closed is not None:
        return
    is_at_limit = (
        brakes.check(state.limits, state.tally, state.opened.at, now).level is BrakeLevel.HARD
    )
    may = brakes.check(limits, state.tally, state.opened.at, now).level is not BrakeLevel.HARD
    if may and limits != state.limits and (is_at_limit or state.limit_reached):
        await deliver_command(project, recorded.run, Raise(limits=limits), by)


def _describe(limits: Limits) -> str:
    parts = [
        counted(limits.turns, "turn") if limits.turns is not None else "",
        f"{limits.tokens:,} tokens" if limits.tokens is not None else "",
        f"${limits.cost_microusd / 1e6:.2f}" if limits.cost_microusd is not None else "",
        f"{limits.time_s / 60:g} minutes" if limits.time_s is not None else "",
        f"{limits.busy_s / 60:g} minutes of work" if limits.busy_s is not None else "",
    ]
    return f"at most {', '.join(filter(None, parts))}"
