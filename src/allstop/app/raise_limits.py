"""Raising the limits of a run, so that it continues where it waits at its limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from allstop.app.runs.budget_limits import apply_changes
from allstop.app.runs.commands import deliver_command
from allstop.app.runs.status import record_of
from allstop.core import brakes, number_bounds
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
    """Limits of a whole run; None keeps the current one."""

    times: float | None = None
    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    minutes: float | None = None


class Limit(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="command", tag="limit"
):
    """Set limits, or multiply them: for a run at once, for a task from its next attempt on."""

    times: Annotated[float, Meta(gt=1, le=100)] | UnsetType = UNSET
    iterations: Annotated[int, Meta(ge=1, le=number_bounds.COUNT)] | UnsetType = UNSET
    minutes: Annotated[float, Meta(gt=0, le=number_bounds.MINUTES)] | UnsetType = UNSET
    turns: Annotated[int, Meta(ge=1)] | UnsetType = UNSET  # this and the following: runs only
    tokens: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    cost_usd: Annotated[float, Meta(gt=0, le=1_000_000)] | UnsetType = UNSET

    @property
    def allowance(self) -> Allowance:
        """The part that applies to a run."""
        given = {name: getattr(self, name) for name in Allowance.__struct_fields__}
        return Allowance(**{name: value for name, value in given.items() if value is not UNSET})


class RaisedLimits(Struct, frozen=True, kw_only=True):
    run: RunId
    note: str
    driven: bool
    held: bool  # paused or stopped by a person: higher limits don't resume it


async def names_run(project: Project, name: str) -> bool:
    """Whether limits for this name are those of a run.

    It is the name of a run, or of a task whose open attempt waits at the attempt's own limit.
    """
    if not project.has_store:
        return False
    if await project.records.read(RunId(name)):
        return True
    try:
        recorded = await record_of(project, name)
    except AllstopError:  # a task that was never started, or an unknown name
        return False
    state = runs.fold(recorded.pilot, recorded.events)
    verdict = brakes.check(state.limits, state.tally, state.opened.at, project.clock.now())
    return state.closed is None and verdict.level is BrakeLevel.HARD


async def raise_run(project: Project, name: str, more: Allowance, by: str) -> RaisedLimits:
    """Set limits of a run; the process that drives it continues at once.

    Raises AllstopError if the run is over, the limits are too low, or nobody drives the board.
    """
    recorded = await record_of(project, name)
    state = runs.fold(recorded.pilot, recorded.events)
    if root_of(recorded.run) == BOARD and BOARD not in project.journal.holders():
        hint = "`allstop run` continues by [budget]; `allstop run --budget USD` allows so much more"
        raise AllstopError("nobody drives the board", hint, code="board_not_driven")
    limits = raised_limits(state, more, project.clock.now())
    effect = await deliver_command(project, recorded.run, Raise(limits=limits), by)
    held = state.hold is not Hold.NONE
    return RaisedLimits(
        run=recorded.run, note=describe_limits(limits), driven=effect.driven, held=held
    )


def raised_limits(state: RunState[Any], more: Allowance, now: datetime) -> Limits:
    """The limits the run would have.

    Raises:
        AllstopError: no limit is given, there is none to multiply, or it would still be at one.
    """
    if more == Allowance():
        hint = "give one of times, turns, tokens, cost, minutes"
        raise AllstopError("no limit is given", hint, code="limit_missing")
    limits = state.limits if more.times is None else _multiply(state, more.times, now)
    limits = apply_changes(limits, more)
    verdict = brakes.check(limits, state.tally, state.opened.at, now)
    if verdict.level is BrakeLevel.HARD:
        message = f"the run would still be at its limit: {verdict.reason}"
        raise AllstopError(message, "allow it more", code="limit_too_low")
    return limits


def _multiply(state: RunState[Any], times: float, now: datetime) -> Limits:
    """Multiply each limit, or the current usage if that is higher."""
    limits, used = state.limits, state.tally
    if limits == Limits(at_limit=limits.at_limit):
        raise AllstopError(
            "the run has no limit of its own",
            "`allstop today` shows the limits of the day",
            code="no_own_limit",
        )
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
    """Give a run that waits at its limit the limits of the settings, if these allow more."""
    state, now = runs.fold(recorded.pilot, recorded.events), project.clock.now()
    if limits is None or state.closed is not None:
        return
    is_at_limit = (
        brakes.check(state.limits, state.tally, state.opened.at, now).level is BrakeLevel.HARD
    )
    may = brakes.check(limits, state.tally, state.opened.at, now).level is not BrakeLevel.HARD
    if may and limits != state.limits and (is_at_limit or state.limit_reached):
        await deliver_command(project, recorded.run, Raise(limits=limits), by)


def describe_limits(limits: Limits) -> str:
    """The limits in words; "" if there is none."""
    parts = [
        counted(limits.turns, "turn") if limits.turns is not None else "",
        f"{limits.tokens:,} tokens" if limits.tokens is not None else "",
        f"${limits.cost_microusd / 1e6:.2f}" if limits.cost_microusd is not None else "",
        f"{limits.time_s / 60:g} minutes" if limits.time_s is not None else "",
        f"{limits.busy_s / 60:g} minutes of work" if limits.busy_s is not None else "",
    ]
    given = ", ".join(filter(None, parts))
    return f"at most {given}" if given else ""
