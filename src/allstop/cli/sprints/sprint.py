"""The command `sprint`: starts, lists, shows and steers sprints."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

from allstop.cli.argument_types import DOLLARS
from allstop.cli.output import Context, echo, json_option, look, print_json, run
from allstop.core import number_bounds
from allstop.core.text import counted, money, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from allstop.app.board.commands import BoardSnapshot
    from allstop.app.project import Project
    from allstop.app.start_requests import SprintFilters, SprintTarget, StartSprint
    from allstop.core.board_specs import SprintSpec
    from allstop.core.commands import SprintCommand
    from allstop.views.sprints import SprintView


@click.group()
def sprint() -> None:
    """Work on the board up to a target.

    The target is a number of finished tasks, a duration, a time, or that no task is ready.

    \b
    Examples:
      allstop sprint start --count 10 --operation Payments
      allstop sprint start --until 07:00 --not-tag later
      allstop sprint show
    """


@sprint.command()
@click.option("--count", type=int, metavar="N", help="End after N finished tasks.")
@click.option("--for", "for_", metavar="2h", help="End after this long.")
@click.option("--until", metavar="07:00", help="End at this time of day, or at an ISO time.")
@click.option("--no-ready", is_flag=True, help="End when no task is ready.")
@click.option("--operation", "operations", multiple=True, help="Only tasks of this operation; several are possible.")  # fmt: skip
@click.option("--not-operation", "no_operations", multiple=True, help="No tasks of this operation.")  # fmt: skip
@click.option("--tag", "tags", multiple=True, help="Only tasks with one of these tags.")
@click.option("--not-tag", "no_tags", multiple=True, help="No tasks with this tag.")
@click.option("--checkpoint/--no-checkpoint", "checkpoint_before", default=None, help="Make a checkpoint to return to.")  # fmt: skip
@click.option("--pause-on-error/--no-pause-on-error", default=None, help="Pause when a task fails.")  # fmt: skip
@click.option("--pause-on-stuck/--no-pause-on-stuck", default=None, help="Pause when a task makes no commits.")  # fmt: skip
@click.option("--batch-review/--no-batch-review", default=None, help="Collect all work for a review at the end.")  # fmt: skip
@click.option("--parallel", type=click.IntRange(1, number_bounds.SLOTS), metavar="N", help="Number of tasks at once.")  # fmt: skip
@click.option("--agent", help="The agent; by default the first choice of [loop].")
@click.option("--budget", type=DOLLARS, metavar="USD", help="Cost limit; by default [budget.sprint].")  # fmt: skip
@click.option("--yes", is_flag=True, help="Start without a question.")
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one per line.")
@click.pass_obj
def start(
    context: Context,
    /,
    count: int | None,
    for_: str | None,
    until: str | None,
    no_ready: bool,
    operations: tuple[str, ...],
    no_operations: tuple[str, ...],
    tags: tuple[str, ...],
    no_tags: tuple[str, ...],
    budget: float | None,
    yes: bool,
    as_json: bool,
    **options: bool | int | str | None,
) -> int:
    """Start a sprint. It switches the board to autopilot.

    Options that are left out follow [sprint]. At its target nothing new starts, and tasks at work
    finish. In a terminal the settings are shown before, and you are asked.

    \b
    Examples:
      allstop sprint start --count 10
      allstop sprint start --for 2h --tag api --not-tag later --budget 5
    """
    from allstop.app.start_requests import SprintFilters, StartSprint

    given = (operations, no_operations, tags, no_tags)
    filters = SprintFilters(
        include_operations=operations,
        exclude_operations=no_operations,
        include_tags=tags,
        exclude_tags=no_tags,
    )
    request = StartSprint(
        target=target_of(count, for_, until, no_ready=no_ready),
        filters=filters if any(given) else None,
        budget_usd=budget,
        **options,  # type: ignore[arg-type]  # click has checked them
    )
    with context.project() as project:
        asks = sys.stdin.isatty() and not (yes or as_json)
        return run(lambda: start_sprint(project, request, as_json=as_json, asks=asks))


def target_of(
    count: int | None, for_: str | None, until: str | None, *, no_ready: bool = False
) -> SprintTarget | None:
    """The target by the options of a command; None if none is given."""
    from allstop.app.board.sprints import too_many_targets
    from allstop.app.start_requests import SprintTarget
    from allstop.cli.times import span
    from allstop.core.board_specs import TargetKind

    found = []
    if count is not None:
        found.append(SprintTarget(type=TargetKind.COUNT, value=count))
    if for_ is not None:
        hours = span(for_).total_seconds() / 3600
        value = int(hours) if hours.is_integer() else hours
        found.append(SprintTarget(type=TargetKind.DURATION, value=value))
    if until is not None:
        found.append(SprintTarget(type=TargetKind.UNTIL_TIME, value=until))
    if no_ready:
        found.append(SprintTarget(type=TargetKind.NO_READY))
    if len(found) > 1:
        raise too_many_targets()
    return found[0] if found else None


async def start_sprint(
    project: Project, request: StartSprint, *, as_json: bool, asks: bool = False
) -> int:
    """Start a sprint in this terminal, or in the process that drives the board."""
    from msgspec import structs

    from allstop.app.board.commands import read
    from allstop.app.board.sprints import sprint_spec, sprint_start
    from allstop.app.runs.commands import refuse_if_stopped
    from allstop.cli.board.follow_board import continue_board
    from allstop.cli.board.forecast import sprint_lines as forecast_lines
    from allstop.cli.board.run_board import run_board
    from allstop.cli.queued_start import queue_start
    from allstop.core.ids import BOARD
    from allstop.ports import HeldError

    await refuse_if_stopped(project)
    begun = sprint_start(project, request)
    known = await read(project)
    spec = sprint_spec(project, request, known.state, project.clock.now())
    if not as_json:
        for line in _setting_lines(project, known, request, spec):
            echo(line)
        as_started = structs.replace(known.state, spec=begun.spec)
        for line in await forecast_lines(project, as_started, spec):
            echo(line)
    if asks and not click.confirm("Start it?", default=True):
        echo("Nothing was started.")
        return 0
    if not project.settings.loop.auto_execute:
        return await queue_start(project, request, as_json=as_json)
    if not project.has_store or BOARD not in project.journal.holders():
        with suppress(HeldError):  # another process was faster; nothing was written
            return await run_board(
                project,
                begun.spec,
                begun.decide,
                allowance=begun.allowance,
                as_json=as_json,
            )
    return await continue_board(
        project,
        begun.spec,
        begun.decide,
        allowance=begun.allowance,
        holder=project.journal.holders().get(BOARD),
        as_json=as_json,
    )


def _setting_lines(
    project: Project, known: BoardSnapshot, request: StartSprint, spec: SprintSpec
) -> Iterator[str]:
    """The settings of a sprint, before it starts."""
    from allstop.core.board_specs import target_in_words
    from allstop.core.tasks import Status

    filters = spec.filters
    pending = [task for task in known.state.board.tasks() if task.status is Status.PENDING]
    matching = [task for task in pending if filters.takes(task.operation, task.tags)]
    ends = f", {_clock(spec.ends_at.timestamp() * 1000)}" if spec.ends_at else ""
    yield f"sprint{len(known.state.sprints) + 1}: {target_in_words(spec.target)}{ends}"
    yield f"  tasks       {len(matching)} of {len(pending)} pending{_filters_in_words(filters)}"
    switches = {
        "checkpoint": spec.checkpoint_before,
        "pause on error": spec.pause_on_error,
        "pause on stuck": spec.pause_on_stuck,
        "batch review": spec.batch_review,
    }
    words = {True: "on", False: "off", None: f"as [review] mode ({project.settings.review.mode})"}
    yield "  options     " + ", ".join(f"{name}: {words[on]}" for name, on in switches.items())
    loop = project.settings.loop
    yield (
        f"  each task   {counted(loop.max_iterations, 'turn')},"
        f" {loop.timeout_minutes:g} minutes, {request.parallel or loop.max_parallel} at once"
    )
    yield f"  budget      {_budget_in_words(project, request)}"


def _budget_in_words(project: Project, request: StartSprint) -> str:
    from allstop.app.raise_limits import describe_limits
    from allstop.app.runs.budget_limits import sprint_limits

    limits = sprint_limits(project, request.budget_usd)
    words = describe_limits(limits)
    return f"{words}; then {limits.at_limit}" if words else "no limit of its own"


def _filters_in_words(filters: SprintFilters | object) -> str:
    parts = [
        f"{word} {one_line(', '.join(names), 60)}"
        for word, name in (
            ("of", "include_operations"),
            ("not of", "exclude_operations"),
            ("tagged", "include_tags"),
            ("not tagged", "exclude_tags"),
        )
        if (names := getattr(filters, name))
    ]
    return f" ({', '.join(parts)})" if parts else ""


@sprint.command("list")
@json_option
@click.pass_obj
def list_(context: Context, as_json: bool) -> None:
    """List the sprints, the newest first."""
    from allstop.app.board.sprints import sprint_views

    with context.project() as project:
        found = look(lambda: sprint_views(project)) if project.has_store else []
        now = project.clock.now()
    if as_json:
        print_json({"sprints": found})
        return
    if not found:
        echo("No sprint yet. Start one: allstop sprint start --count 5")
        return
    rows = [("SPRINT", "STATE", "TARGET", "FINISHED", "FAILED", "REVIEW", "TIME", "COST")]
    rows += [
        (
            view.id,
            "ended" if view.ended_at else view.phase,
            one_line(view.until, 30),
            str(view.completed_tasks + view.failed_tasks),
            str(view.failed_tasks),
            str(view.reviewing_tasks),
            _runtime(view, now),
            money(view.cost_usd, partial=view.partial),
        )
        for view in found
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        echo(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        )


@sprint.command()
@click.argument("name", metavar="[SPRINT]", required=False)
@json_option
@click.pass_obj
def show(context: Context, name: str | None, as_json: bool) -> None:
    """Show a sprint with its tasks: the running one, or else the last.

    \b
    Examples:
      allstop sprint show
      allstop sprint show sprint3
    """
    from allstop.app.board.sprints import sprint_view, sprint_views
    from allstop.core.errors import NotFoundError

    with context.project() as project:
        if name is not None:
            found = look(lambda: sprint_view(project, name))
        else:
            views = look(lambda: sprint_views(project)) if project.has_store else []
            if not views:
                raise NotFoundError("there was no sprint yet", "`allstop sprint start` starts one")
            found = views[0]
        now = project.clock.now()
        expected = [] if as_json or found.ended_at else run(partial(_forecast, project))
    if as_json:
        print_json(found)
        return
    for line in [*sprint_lines(found, now), *expected]:
        echo(line)


async def _forecast(project: Project) -> list[str]:
    from allstop.app.board.commands import read
    from allstop.cli.board.forecast import sprint_lines as forecast_lines

    return await forecast_lines(project, (await read(project)).state)


def sprint_lines(view: SprintView, now: datetime) -> Iterator[str]:
    from allstop.views.sprints import summary

    state = f"ended: {view.reason}" if view.ended_at else view.phase
    yield f"{view.id}: {view.until} · {state}" + (f": {view.note}" if view.note else "")
    started, ended = (
        _clock(view.started_at),
        f" to {_clock(view.ended_at)}" if view.ended_at else "",
    )
    yield f"  from        {started}{ended} ({_runtime(view, now)})"
    yield f"  tasks       {summary(view)}" + (
        f"; at work: {', '.join(view.at_work)}" if view.at_work else ""
    )
    if filters := _filters_in_words(view.filters):
        yield f"  filter     {filters}"
    cost = money(view.cost_usd, partial=view.partial)
    yield f"  used        {counted(view.turns, 'turn')}, {view.tokens:,} tokens, {cost}"
    if view.checkpoint:
        yield f"  checkpoint  undo it all: allstop checkpoint restore {view.checkpoint}"
    for task in view.task_stats:
        passed = "✓" if task.verification_passed else "✗"
        minutes = (task.completed_at - task.started_at) / 60_000
        decision = f", {task.review_decision}" if isinstance(task.review_decision, str) else ""
        yield (
            f"  {passed} {task.task_id}  {counted(task.iterations, 'turn')},"
            f" {minutes:.0f} min{decision}"
        )
    if view.phase == "paused":
        yield "Continue: allstop sprint resume; or: allstop sprint cancel"


def _clock(ms: float) -> str:
    from datetime import datetime

    return f"{datetime.fromtimestamp(ms / 1000).astimezone():%Y-%m-%d %H:%M}"


def _runtime(view: SprintView, now: datetime) -> str:
    end = view.ended_at or now.timestamp() * 1000
    minutes = max(0, round((end - view.started_at) / 60_000))
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"


@sprint.command()
@click.argument("name", metavar="[SPRINT]", required=False)
@json_option
@click.pass_obj
def pause(context: Context, name: str | None, as_json: bool) -> int:
    """Pause the running sprint: no task starts, and tasks at work finish.

    `allstop pause` pauses the agents, too.
    """
    from allstop.core.commands import PauseSprint

    with context.project() as project:
        return run(lambda: _steer(project, PauseSprint(), name, "paused", as_json=as_json))


@sprint.command()
@click.argument("name", metavar="[SPRINT]", required=False)
@json_option
@click.pass_obj
def resume(context: Context, name: str | None, as_json: bool) -> int:
    """Resume a paused sprint. Without a process that drives the board, this terminal does."""
    from allstop.core.commands import ResumeSprint

    with context.project() as project:
        return run(partial(_resume, project, ResumeSprint(), name or "", as_json=as_json))


@sprint.command()
@click.argument("name", metavar="[SPRINT]", required=False)
@json_option
@click.pass_obj
def cancel(context: Context, name: str | None, as_json: bool) -> int:
    """End the running sprint now. Tasks at work finish, but don't count for it."""
    from allstop.core.commands import CancelSprint

    with context.project() as project:
        return run(lambda: _steer(project, CancelSprint(), name, "cancelled", as_json=as_json))


async def _steer(
    project: Project, command: SprintCommand, name: str | None, done: str, *, as_json: bool
) -> int:
    from allstop.app.board.sprints import sprint_views, steer

    sent = await steer(project, command, name or "")
    current = sent.state.sprint or sent.state.sprints[-1]
    if as_json:
        views = await sprint_views(project)
        print_json(next(view for view in views if view.id == current.id))
    else:
        echo(f"{current.id} is {done}.")
    return 0


async def _resume(project: Project, command: SprintCommand, name: str, *, as_json: bool) -> int:
    """Resume the sprint where the board is driven, or drive it here."""
    from allstop.app.board.board_spec import board_spec
    from allstop.app.board.commands import read
    from allstop.app.board.sprints import steering_commands
    from allstop.board.sprint_states import Phase
    from allstop.cli.board.run_board import run_board
    from allstop.core.board_specs import Mode
    from allstop.core.ids import BOARD

    if project.has_store and BOARD in project.journal.holders():
        return await _steer(project, command, name, "resumed", as_json=as_json)
    known = await read(project)
    sprint = known.state.sprint
    if sprint is None or sprint.phase is Phase.PAUSED:
        steering_commands(known.state, command, name)  # refuse before anything is written
        steps = [command]
    else:
        steps = []  # it was interrupted
    spec = board_spec(project, mode=Mode.AUTOPILOT)
    return await run_board(project, spec, lambda state: steps, known=known, as_json=as_json)
