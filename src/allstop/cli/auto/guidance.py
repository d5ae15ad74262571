"""Guidance tried out: its decisions for a goal or a turn's summary, without an agent at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.output import FAILED, FINISHED, STOPPED, Context, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.auto.state import AutoState
    from allstop.core.ids import RunId
    from allstop.views.auto import AutoLog


@click.group()
def guidance() -> None:
    """What guidance would tell an agent in Full Auto."""


@guidance.command()
@click.option("--goal", help="What is wanted; else the file says it.")
@click.option(
    "--summary",
    "file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="A turn's summary as JSON, or a line of `allstop receipts RUN --json`; - for stdin.",
)
@json_option
@click.pass_obj
def demo(context: Context, goal: str | None, file: str | None, as_json: bool) -> int:
    """Run guidance once: on a goal, or on what a turn has left. No agent takes a turn.

    It is a run like others, with a record, budgets and brakes.
    """
    text = b""
    if file is not None:
        with click.open_file(file, "rb") as stream:
            text = stream.read()
    with context.project() as project:
        return run(lambda: _demo(project, goal, text, as_json=as_json))


async def _demo(project: Project, goal: str | None, text: bytes, *, as_json: bool) -> int:
    import msgspec

    from allstop.app.auto import threads
    from allstop.app.board.board_spec import thread_limits
    from allstop.app.runtime import start_runtime
    from allstop.auto.turn_summaries import read_summary
    from allstop.views.auto import AutoLog

    given = read_summary(text, goal or "")
    spec = threads.rehearsal(project, goal=given.goal, summary=given.summary)
    async with start_runtime(project, threads.agents_of(spec)) as runtime:
        title = given.goal.splitlines()[0][:80]
        told = msgspec.to_builtins(spec)
        limits = thread_limits(project)
        name = await threads.open_under_free_name(
            project,
            "guidance",
            lambda name: runtime.engine.open(name, "auto", told, title=title, limits=limits),
        )
        await runtime.engine.idle()
    story = AutoLog(threads.PILOT)
    for record in await project.journal.read(name):
        story.take(record.event)
    return _tell(name, story, as_json=as_json)


def _tell(name: RunId, story: AutoLog, *, as_json: bool) -> int:
    from allstop.views.auto import describe_decision, describe_step

    assert story.state is not None, "it was opened"
    state: AutoState = story.state.pilot
    steps = state.guide.steps if state.guide else ()
    if as_json:
        print_json({"run": name, "steps": steps, "decision": state.decision})
    else:
        for step in steps:
            click.echo(describe_step(step))
        if state.decision:
            click.echo(describe_decision(state.decision))
        if state.decision and state.decision.next_input:
            click.echo(f"next input: {state.decision.next_input}")
        click.echo(f"The record: allstop log {name}")
    if story.state.closed is None:
        click.echo(f"{name} was held before it was done", err=True)
        return STOPPED
    return FINISHED if state.decision else FAILED
