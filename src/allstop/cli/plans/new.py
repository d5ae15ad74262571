"""The commands `plan new` and `plan export`: a plan that an agent writes, and finished steps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.argument_types import RUN_OR_TASK
from allstop.cli.output import Context, echo, json_option, look, print_json, run
from allstop.cli.plans.plan_lines import refuse_to_overwrite, write_file
from allstop.core.text import counted

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.core.ids import RunId
    from allstop.engine.local import LocalEngine
    from allstop.views.drafts import DraftView

OUT = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("goal")
@click.option("--out", type=OUT, default="PLAN.md", show_default=True, help="The file to write.")
@click.option("--agent", help="The agent; by default the first one configured.")
@click.option("--no-questions", is_flag=True, help="The agent states assumptions and asks nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one per line.")
@click.pass_obj
def new(
    context: Context, goal: str, out: Path, agent: str | None, no_questions: bool, as_json: bool
) -> int:
    """Let an agent write a plan for GOAL.

    The agent reads the repository in a clone that is thrown away. It may ask up to five questions;
    press Enter to leave one to the agent. Without a terminal it states assumptions in the plan.
    Nothing runs: edit the file, then start it with `plan run`.

    \b
    Examples:
      allstop plan new "Move the parser to its own package"
      allstop plan new "Add a dark mode" --out dark-mode.md --no-questions
    """
    refuse_to_overwrite(out)
    asks = sys.stdin.isatty() and not no_questions
    with context.project() as project:
        return run(lambda: write_plan(project, goal, out, agent, asks=asks, as_json=as_json))


async def write_plan(
    project: Project,
    goal: str,
    out: Path,
    agent: str | None = None,
    *,
    asks: bool = False,
    as_json: bool = False,
    shown: Path | None = None,
) -> int:
    """Let an agent write a plan to a file, in this terminal; returns the exit code.

    `shown` is the file's name for people, if it isn't the path itself.
    """
    from allstop.app.plans import drafts
    from allstop.app.runs.commands import refuse_if_stopped
    from allstop.app.start_requests import StartDraft
    from allstop.cli.queued_start import queue_start
    from allstop.cli.run_terminal import drive

    if not project.settings.loop.auto_execute:
        request = StartDraft(goal=goal, agent=agent, asks=asks)
        return await queue_start(project, request, as_json=as_json)
    draft = drafts.prepare_draft(project, goal, agent=agent, asks=asks, attended=sys.stdin.isatty())
    await refuse_if_stopped(project)
    kind = project.kinds[drafts.PILOT.kind]
    opened: list[RunId] = []

    async def open_(engine: LocalEngine) -> RunId:
        opened.append(await draft.open(engine))
        return opened[0]

    code = await drive(project, kind, draft.agents, open_, as_json=as_json)
    view = await drafts.draft_of(project, opened[0])
    if view.outcome is not None and view.text:
        _save(view, out, shown or out, as_json=as_json)
    return code


def _save(view: DraftView, out: Path, shown: Path, *, as_json: bool) -> None:
    """Write the agent's text to the file, also if it can't be used yet: a person can correct it."""
    hint = f"`allstop plan export {view.run} FILE` writes it to another file"
    refuse_to_overwrite(out, hint)
    write_file(out, view.text, hint)
    if as_json:
        return
    if not view.is_ready:
        echo(
            f"{shown}: the agent's last text, with {counted(len(view.problems), 'problem')}:",
            err=True,
        )
        for problem in view.problems:
            echo(f"  {shown}:{problem.line}: {problem}", err=True)
        echo(f"Correct the file, then: allstop plan check {shown}", err=True)
        return
    for each in view.assumptions:
        echo(f"  {each}")
    echo(f"{shown} is written. Edit it, then: allstop plan run {shown}")


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@click.argument("file", required=False, type=OUT)
@json_option
@click.pass_obj
def export(context: Context, run_id: str, file: Path | None, as_json: bool) -> None:
    """Print a plan as Markdown, with its finished steps ticked.

    With FILE, tick the finished steps in that file, and change nothing else in it; a new FILE gets
    the whole plan. RUN may also be the draft of a plan that an agent wrote. Only this command ticks
    steps.

    \b
    Examples:
      allstop plan export plan1
      allstop plan export plan1 PLAN.md
      allstop plan export draft1 PLAN.md
    """
    with context.project() as project:
        if file is None:
            look(lambda: _print_plan(project, run_id, as_json=as_json))
        else:
            look(lambda: export_plan(project, run_id, file, as_json=as_json))


async def _print_plan(project: Project, run_id: str, *, as_json: bool) -> None:
    from allstop.app.plans.export import exported_plan

    found = await exported_plan(project, run_id)
    if as_json:
        print_json({"plan": found.text, "finished": found.finished})
    else:
        echo(found.text.rstrip("\n"))


async def export_plan(
    project: Project, run_id: str, file: Path, *, as_json: bool = False, shown: Path | None = None
) -> None:
    """Tick the finished steps in a file, or write it; says what was done.

    `shown` is the file's name for people, if it isn't the path itself.
    """
    from allstop.app.plans.export import exported_plan

    found = await exported_plan(project, run_id)
    count = _export_to(file, found.text, found.finished)
    if as_json:
        print_json({"file": str(file), "ticked": count})
    elif count is None:
        echo(f"{shown or file} is written.")
    else:
        done = len(found.finished)
        echo(f"{shown or file}: {counted(count, 'step')} ticked, of {done} finished.")


def _export_to(file: Path, text: str, finished: tuple[str, ...]) -> int | None:
    """Tick the finished steps in the file, or write it; returns how many, or None if it is new."""
    from allstop.core.errors import AllstopError
    from allstop.plans.plan_file import Format, format_of
    from allstop.plans.plan_text import ticked

    hint = "name a new file; it gets the plan as Markdown"
    if not file.exists():
        write_file(file, text, hint)
        return None
    try:
        old = file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise AllstopError(f"{file} can't be read as text", hint, code="file_not_read") from error
    if format_of(file.name, old) is not Format.MARKDOWN:
        raise AllstopError(
            f"{file} is not Markdown: steps can't be ticked in it", hint, code="not_markdown"
        )
    after, count = ticked(old, finished)
    if count:
        write_file(file, after, hint)
    return count
