"""Sprints of the board: building one from a request and the settings, steering, and viewing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from allstop.app.agents.registry import task_agents
from allstop.app.board import board_spec, commands
from allstop.app.board.ended_sprints import write_sprints
from allstop.app.runs import budget_limits
from allstop.app.runs.status import runs_below
from allstop.board.local_time import next_time
from allstop.board.sprint_states import Phase, Trigger, after
from allstop.core import commands as core_commands
from allstop.core.board_specs import BoardSpec, Filters, Mode, SprintSpec, Target, TargetKind
from allstop.core.brakes import AtLimit, Limits
from allstop.core.errors import AllstopError, NotFoundError
from allstop.core.tasks import Status
from allstop.core.text import one_line
from allstop.views import sprints as views

if TYPE_CHECKING:
    from allstop.app.board.driver import Decide
    from allstop.app.project import Project
    from allstop.app.start_requests import StartSprint
    from allstop.board.sprint import Sprint
    from allstop.board.state import BoardState

T = TypeVar("T")

LONGEST_H = 8760.0
"""The longest duration of a sprint: a year."""

TRIGGERS = {
    core_commands.PauseSprint: Trigger.PAUSE_SPRINT,
    core_commands.ResumeSprint: Trigger.RESUME_SPRINT,
    core_commands.CancelSprint: Trigger.CANCEL_SPRINT,
}


class SprintStart(NamedTuple):
    """What the board is told to start a sprint."""

    spec: BoardSpec
    decide: Decide
    allowance: Limits  # its budget, on top of what the board has used so far


def sprint_start(project: Project, request: StartSprint) -> SprintStart:
    """Raises AllstopError if the settings lack an agent, a branch or a required check."""
    spec = board_spec.board_spec(
        project,
        mode=Mode.AUTOPILOT,
        slots=request.parallel,
        agents=task_agents(project, request.agent) if request.agent else None,
    )

    def decide(state: BoardState) -> Sequence[core_commands.Command]:
        sprint = sprint_spec(project, request, state, project.clock.now())
        return [core_commands.StartSprint(sprint=sprint)]

    return SprintStart(spec, decide, sprint_limits(project, request))


def sprint_limits(project: Project, request: StartSprint) -> Limits:
    """Its budget. A time limit that stops a sprint is a part of its target."""
    limits = budget_limits.sprint_limits(project, request.budget_usd)
    if limits.at_limit is not AtLimit.STOP:
        return limits
    return Limits(
        turns=limits.turns,
        tokens=limits.tokens,
        cost_microusd=limits.cost_microusd,
        at_limit=limits.at_limit,
    )


def sprint_spec(
    project: Project,
    request: StartSprint,
    state: BoardState,
    now: datetime,
    zone: tzinfo | None = None,
) -> SprintSpec:
    """The sprint by the request, and by [sprint] for all that it leaves out.

    Raises AllstopError if it can't be started.
    """
    settings = project.settings.sprint
    if state.sprint is not None:
        hint = f"`allstop sprint cancel` ends it; `allstop sprint show {state.sprint.id}` shows it"
        raise AllstopError(f"{state.sprint.id} is running", hint, code="sprint_running")
    asked = request.target or settings.target
    target = Target(type=asked.type, value=asked.value)
    ends_at = _end_of(target, now, zone)
    budget = budget_limits.sprint_limits(project)
    if budget.time_s is not None and budget.at_limit is AtLimit.STOP:
        allowed_until = now + timedelta(seconds=budget.time_s)
        ends_at = min(ends_at or allowed_until, allowed_until)
    chosen = request.filters if request.filters is not None else settings.filters
    filters = Filters(**{name: getattr(chosen, name) for name in Filters.__struct_fields__})
    _check_filters(filters, state)
    return SprintSpec(
        target=target,
        ends_at=ends_at,
        filters=filters,
        checkpoint_before=_given(request.checkpoint_before, settings.checkpoint_before),
        pause_on_error=_given(request.pause_on_error, settings.pause_on_error),
        pause_on_stuck=_given(request.pause_on_stuck, settings.pause_on_stuck),
        batch_review=_given(request.batch_review, settings.batch_review),
        at_limit=budget.at_limit,
    )


def _given(asked: bool | None, setting: T) -> bool | T:  # noqa: FBT001 - the value itself
    return setting if asked is None else asked


def too_many_targets() -> AllstopError:
    hint = "name a number of tasks, a duration or a time"
    return AllstopError("a sprint has one target", hint, code="sprint_target_twice")


def not_in_sprint() -> AllstopError:
    return AllstopError(
        "a sprint picks its tasks itself",
        "leave out the IDs, prompts and mode, or the target",
        code="sprint_picks_tasks",
    )


# --- the target -------------------------------------------------------------------------------


def _end_of(target: Target, now: datetime, zone: tzinfo | None) -> datetime | None:
    """The moment of a target in time; None for other targets."""
    value = target.value
    match target.type:
        case TargetKind.COUNT:
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10**9:
                raise _bad_target(f"a sprint can't finish {value!r} tasks", "use 1 or more")
            return None
        case TargetKind.DURATION:
            if isinstance(value, bool | str | None) or not 0 < value <= LONGEST_H:
                hint = f"use more than 0 and at most {LONGEST_H:,.0f} hours"
                raise _bad_target(f"a sprint can't last {value!r} hours", hint)
            return now + timedelta(hours=value)
        case TargetKind.UNTIL_TIME:
            return _moment_of(value, now, zone)
        case TargetKind.NO_READY:
            if value is not None:
                message = "a sprint until nothing is ready has no number"
                raise _bad_target(message, "leave out the value")
            return None


def _bad_target(message: str, hint: str) -> AllstopError:
    return AllstopError(message, hint, code="sprint_target_invalid")


def _moment_of(value: object, now: datetime, zone: tzinfo | None) -> datetime:
    """The next such time of day by the local clock, or an ISO time that has not passed."""
    text = value if isinstance(value, str) else ""
    if (at := next_time(now, text, zone)) is not None:
        return at
    try:
        at = datetime.fromisoformat(text)
        at = (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        shown = one_line(text, 40) if text else str(value)
        message = f"{shown!r} is not a time of day such as 07:00, nor an ISO time"
        raise _bad_target(message, "use 07:00 or 2030-05-31T07:00") from None
    if at <= now:
        message = f"{one_line(text, 40)} has passed"
        raise AllstopError(message, "name a time to come", code="sprint_target_past")
    return at


# --- filters ----------------------------------------------------------------------------------


def _check_filters(filters: Filters, state: BoardState) -> None:
    tasks = state.board.tasks()
    operations = sorted({task.operation for task in tasks} - {""})
    for name in (*filters.include_operations, *filters.exclude_operations):
        if name not in operations:
            known = ", ".join(one_line(each, 40) for each in operations[:10])
            hint = f"the board has: {known}" if known else "no task has an operation"
            raise AllstopError(
                f"there is no operation {one_line(name, 60)!r}", hint, code="operation_unknown"
            )
    for what, inside, out in (
        ("operation", filters.include_operations, filters.exclude_operations),
        ("tag", filters.include_tags, filters.exclude_tags),
    ):
        if both := [name for name in inside if name in out]:
            message = f"the {what} {one_line(both[0], 60)!r} is both taken in and left out"
            raise AllstopError(message, "name it once", code="sprint_filters_conflict")
    pending = [task for task in tasks if task.status is Status.PENDING]
    if not any(filters.takes(task.operation, task.tags) for task in pending):
        hint = "`allstop list` shows the tasks; `allstop add` adds one"
        message = "no pending task matches" if pending else "no task is pending"
        raise AllstopError(message, hint, code="sprint_matches_nothing")


# --- steering ---------------------------------------------------------------------------------


async def steer(
    project: Project, command: core_commands.SprintCommand, name: str = ""
) -> commands.BoardSnapshot:
    """Pause, resume or cancel the running sprint; `name` must be its own.

    Raises AllstopError if no sprint runs, another one does, or the command doesn't fit its state.
    """
    return await commands.send_commands(
        project, lambda state: steering_commands(state, command, name)
    )


def steering_commands(
    state: BoardState, command: core_commands.SprintCommand, name: str = ""
) -> list[core_commands.Command]:
    """The commands to the board; the end of a sprint is also that of its budget."""
    sprint = state.sprint
    if sprint is None:
        over = named(state, name) if name else None
        message = f"{over.id} has ended" if over else "no sprint is running"
        raise AllstopError(message, "`allstop sprint start` starts one", code="no_sprint")
    if name and full_name(name) != sprint.id:
        message = f"{named(state, name).id} is not running, but {sprint.id} is"
        raise AllstopError(message, f"name {sprint.id}, or none", code="sprint_not_running")
    if after(sprint.phase, TRIGGERS[type(command)]) is None:
        hint = _HINTS.get(sprint.phase, "")
        message = f"{sprint.id} is {sprint.phase}"
        raise AllstopError(message, hint, code="sprint_wrong_phase")
    if isinstance(command, core_commands.CancelSprint):
        limits = Limits(at_limit=AtLimit.PAUSE)  # as the board was opened
        return [command, core_commands.Raise(limits=limits)]
    return [command]


_HINTS = {
    Phase.RUNNING: "`allstop sprint pause` pauses it",
    Phase.PAUSED: "`allstop sprint resume` continues it",
    Phase.COMPLETING: "it ends when its tasks at work are finished",
}


# --- viewing ----------------------------------------------------------------------------------


def full_name(name: str) -> str:
    """A sprint's id; people may leave out its first part."""
    return f"sprint{name}" if name.isdigit() else name


def named(state: BoardState, name: str) -> Sprint:
    """Raises NotFoundError if there is no such sprint."""
    found = next((s for s in views.all_sprints(state) if s.id == full_name(name)), None)
    if found is None:
        hint = "`allstop sprint list` shows all"
        raise NotFoundError(f"there is no sprint {one_line(full_name(name), 60)!r}", hint)
    return found


async def sprint_views(project: Project) -> list[views.SprintView]:
    """The newest first. Also writes sprints.jsonl again if it is missing or damaged."""
    known = await commands.read(project)
    if known.exists:
        await write_sprints(project, known.state, known.cursor.seq)
    open_runs = await runs_below(project, known.state) if known.exists else {}
    under_way = {run: state.tally for run, state in open_runs.items()}
    now, limits = project.clock.now(), known.run.limits
    return [
        views.view(sprint, known.state, now, under_way, limits)
        for sprint in views.all_sprints(known.state)
    ]


async def sprint_view(project: Project, name: str) -> views.SprintView:
    """Raises NotFoundError if there is no such sprint."""
    known = await commands.read(project)
    wanted = named(known.state, name).id
    return next(view for view in await sprint_views(project) if view.id == wanted)
