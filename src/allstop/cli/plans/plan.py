"""The command `plan`: checks, runs, lists, shows and steers plans; its other commands are beside it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.argument_types import RUN_OR_TASK, may_change_option
from allstop.cli.output import USAGE, Context, echo, json_option, look, print_json, run
from allstop.cli.plans.import_plan import FORMAT, import_, read_foreign, show_imported
from allstop.cli.plans.new import export, new
from allstop.cli.plans.plan_lines import problem_rows, read_file, show_plan
from allstop.core.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allstop.app.project import Project
    from allstop.app.runs.commands import CommandEffect
    from allstop.core.commands import Command
    from allstop.views.plans import PlanView

FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)


@click.group()
def plan() -> None:
    """Write a plan, and let an agent do its steps in order.

    \b
    Examples:
      allstop plan new "Move the parser to its own package"
      allstop plan check PLAN.md
      allstop plan run PLAN.md --mode step
    """


plan.add_command(new)
plan.add_command(export)
plan.add_command(import_)


@plan.command()
@click.argument("file", type=FILE)
@click.option("--format", "kind", type=FORMAT, help="The tool whose form the file has.")
@json_option
@click.pass_obj
def check(context: Context, file: Path, kind: str | None, as_json: bool) -> int:
    """Print what a plan's file says, and everything that is wrong with it.

    FILE is Markdown, JSON or YAML. In Markdown, headings are phases and list items are steps.
    Problems are listed with their line; the exit code is then 2. With --format it is a file of
    another tool, as `plan import` reads it; what is left out is listed with its line.

    \b
    Examples:
      allstop plan check PLAN.md
      allstop plan check tasks.md --format kiro
    """
    from allstop.plans.plan_file import read_plan

    if kind is not None:
        return show_imported(file, read_foreign(file, kind), as_json=as_json)
    found = read_plan(file.name, read_file(file))
    if as_json:
        print_json({"plan": found.plan, "problems": problem_rows(found.problems)})
    else:
        show_plan(file, found.plan, found.problems)
    return USAGE if found.problems else 0


@plan.command("run")
@click.argument("file", type=FILE)
@click.option(
    "--mode",
    type=click.Choice(["manual", "step", "autopilot"]),
    default="autopilot",
    show_default=True,
    help="Stop at the first error, wait for approval of each step, or retry and continue.",
)
@click.option("--agent", help="The agent; by default the first one configured.")
@click.option(
    "--on-error",
    type=click.Choice(["retry", "skip", "abort"]),
    help="What follows after a step fails in autopilot; by default [retry] error_strategy.",
)
@may_change_option
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one per line.")
@click.pass_obj
def run_(
    context: Context,
    file: Path,
    mode: str,
    agent: str | None,
    on_error: str | None,
    may_change: tuple[str, ...],
    as_json: bool,
) -> int:
    """Do the steps of a plan in order, and merge the work at the end.

    The agent works in its own clone. A step with a check is done when the check succeeds. Type a
    message for the agent while it runs, press Enter to approve a step, or type "Allstop".

    \b
    Examples:
      allstop plan run PLAN.md
      allstop plan run PLAN.md --mode step --agent codex
    """
    from allstop.app.plans import runs
    from allstop.cli.run import resume_run

    data = read_file(file)
    with context.project() as project:
        found = look(lambda: runs.interrupted_views(project))
        asked = found if sys.stdin.isatty() else []
        name = next((view.session_id for view in asked if _wants_resume(view)), None)
        if name is not None:
            return run(lambda: resume_run(project, context.run_kinds, name, as_json=as_json))
        for view in found:
            echo(
                f"{view.session_id} was interrupted: allstop plan resume {view.session_id}",
                err=True,
            )
        return run(
            lambda: run_plan(
                project,
                file,
                data,
                mode,
                agent,
                on_error=on_error,
                may_change=may_change,
                as_json=as_json,
            )
        )


async def run_plan(
    project: Project,
    file: Path,
    data: bytes,
    mode: str = "autopilot",
    agent: str | None = None,
    *,
    on_error: str | None = None,
    may_change: tuple[str, ...] = (),
    as_json: bool = False,
    attended: bool | None = None,
) -> int:
    """Start a plan and drive it in this terminal; returns the exit code."""
    from allstop.app.plans import runs
    from allstop.app.runs.commands import refuse_if_stopped
    from allstop.app.start_requests import PlanOptions, StartPlan
    from allstop.cli.queued_start import queue_start
    from allstop.cli.run_terminal import drive
    from allstop.plans.plan_file import format_of
    from allstop.plans.state import ErrorStrategy, PlanMode

    options = PlanOptions(
        primary_agent=agent, error_strategy=ErrorStrategy(on_error) if on_error else None
    )
    new = runs.prepare_plan(
        project,
        "plan" if str(file) == "-" else file.name,
        data,
        mode=PlanMode(mode),
        options=options,
        attended=sys.stdin.isatty() if attended is None else attended,
        may_change=may_change,
    )
    if not project.settings.loop.auto_execute:
        text, name = data.decode("utf-8-sig"), file.name.partition(".")[0] or "plan"
        request = StartPlan(
            plan=text,
            format=format_of(file.name, text),
            name=name,
            mode=PlanMode(mode),
            config=options,
            may_change=may_change,
        )
        return await queue_start(project, request, as_json=as_json)
    await refuse_if_stopped(project)
    kind = project.kinds[runs.PILOT.kind]
    return await drive(project, kind, new.agents, new.open, as_json=as_json, attended=attended)


@plan.command("list")
@json_option
@click.pass_obj
def list_(context: Context, as_json: bool) -> None:
    """List the plans that were started, with the step each has reached."""
    from allstop.app.plans import runs

    with context.project() as project:
        views = look(lambda: runs.all_views(project))
    if as_json:
        print_json({"plans": views})
        return
    if not views:
        echo("No plan was started here: allstop plan run FILE")
    for view in views:
        title = one_line(view.title or view.plan_id, 60)
        echo(f"{view.session_id}  {_state(view)}  {_progress(view)}  {title}")


def _state(view: PlanView) -> str:
    return view.outcome or view.status


def _progress(view: PlanView) -> str:
    """Such as "3 of 4 steps, 1 skipped"."""
    done = f"{view.completed_steps} of {counted(view.total_steps, 'step')}"
    return f"{done}, {len(view.skipped_steps)} skipped" if view.skipped_steps else done


@plan.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@json_option
@click.pass_obj
def show(context: Context, run_id: str, as_json: bool) -> None:
    """Show the state of a plan: its step, and why it waits."""
    from allstop.app.plans import runs

    with context.project() as project:
        view = look(lambda: runs.view_of(project, run_id))
    if as_json:
        print_json(view)
        return
    for line in _view_lines(view):
        echo(line)


def _view_lines(view: PlanView) -> Iterator[str]:
    yield f"{view.session_id}: {one_line(view.title or view.plan_id, 200)}"
    why = f" ({view.pause_reason})" if view.pause_reason else ""
    yield f"status:   {_state(view)}{why}"
    if view.reason:
        yield f"reason:   {one_line(view.reason, 500)}"
    if view.failure is not None:
        yield f"you can:  {view.failure.person} `{view.failure.command}`"
    if view.resumes_at:
        yield f"resumes:  {view.resumes_at.astimezone():%Y-%m-%d %H:%M:%S}"
    failed = f", {view.failed_steps} failed" if view.failed_steps else ""
    yield f"steps:    {_progress(view)}{failed}"
    if view.current_step is not None:
        yield f"phase:    {one_line(view.current_phase, 200)}"
        yield f"step:     {view.current_step.id}  {one_line(view.current_step.title, 200)}"
    yield f"agent:    {view.active_agent}"
    yield f"retries:  {view.retries} of {view.config.max_retries}"
    for each in view.skip_reasons:
        yield f"skipped:  {each.step}: {one_line(each.reason, 300)}"


@plan.command()
@click.argument("run_id", metavar="[RUN]", required=False, type=RUN_OR_TASK)
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one per line.")
@click.pass_obj
def resume(context: Context, run_id: str | None, as_json: bool) -> int:
    """Continue a plan here, at the step it had reached.

    After a failure the step is tried again. Without RUN, the only plan that was interrupted
    continues; in a terminal you are asked first.
    """
    from allstop.app.plans import runs
    from allstop.cli.run import resume_run

    with context.project() as project:
        if run_id is None:
            view = look(lambda: runs.interrupted_view(project))
            run_id = view.session_id
            if sys.stdin.isatty() and not _wants_resume(view):
                return 0
        name = run_id
        look(lambda: runs.plan_record(project, name))
        return run(lambda: resume_run(project, context.run_kinds, name, as_json=as_json))


def _wants_resume(view: PlanView) -> bool:
    title = one_line(view.title or view.plan_id, 60)
    asked = f"Resume interrupted session? {view.session_id}, {_progress(view)}: {title}"
    return click.confirm(asked, default=True, err=True)


@plan.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@json_option
@click.pass_obj
def approve(context: Context, run_id: str, as_json: bool) -> None:
    """Let the next step of a plan in the mode `step` begin."""
    from allstop.core.commands import Approve

    _command(context, run_id, Approve(task=run_id), "its step is approved", as_json=as_json)


@plan.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@json_option
@click.pass_obj
def skip(context: Context, run_id: str, as_json: bool) -> None:
    """Skip the current step of a plan; its changes are kept."""
    from allstop.core.commands import Skip

    _command(context, run_id, Skip(), "its step is skipped", as_json=as_json)


@plan.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@click.option("-m", "--message", "text", default="", help="A message for its agent.")
@json_option
@click.pass_obj
def retry(context: Context, run_id: str, text: str, as_json: bool) -> None:
    """Try the failed step of a plan again, without waiting."""
    from allstop.core.commands import Retry

    _command(context, run_id, Retry(text=text), "its step is tried again", as_json=as_json)


def _command(context: Context, run_id: str, command: Command, done: str, *, as_json: bool) -> None:
    with context.project() as project:
        effect = run(lambda: send_to_plan(project, run_id, command))
    if as_json:
        print_json({"run": run_id, "command": command, "driven": effect.driven})
        return
    echo(f"{run_id}: {done}.")
    if effect.deferred:
        echo(effect.deferred)


async def send_to_plan(project: Project, run_id: str, command: Command) -> CommandEffect:
    from allstop.app.plans import runs
    from allstop.app.runs.commands import deliver_command

    await runs.plan_record(project, run_id)
    return await deliver_command(project, run_id, command)
