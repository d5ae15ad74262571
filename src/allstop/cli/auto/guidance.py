"""The command `guidance demo`: tries the guidance of Full Auto without an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.output import (
    FAILED,
    FINISHED,
    STOPPED,
    Context,
    echo,
    json_option,
    print_json,
    run,
)

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.auto.state import AutoState
    from allstop.core.ids import RunId
    from allstop.views.auto import AutoLog


@click.group()
def guidance() -> None:
    """Try out the guidance of Full Auto."""


@guidance.command()
@click.option("--goal", help="The goal; by default that of the file.")
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
    """Run guidance once, on a goal or on the summary of a turn. No agent takes a turn.

    This is a run like any other, with a journal, budgets and brakes.
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
    from allstop.app.runs.names import open_under_free_name
    from allstop.app.runtime import start_runtime
    from allstop.auto.turn_summaries import read_summary
    from allstop.views.auto import AutoLog

    given = read_summary(text, goal or "")
    spec = threads.rehearsal(project, goal=given.goal, summary=given.summary)
    async with start_runtime(project, threads.agents_of(spec)) as resources:
        title = given.goal.splitlines()[0][:80]
        payload = msgspec.to_builtins(spec)
        limits = thread_limits(project)
        name = await open_under_free_name(
            project,
            "guidance",
            lambda name: resources.engine.open(name, "auto", payload, title=title, limits=limits),
        )
        await resources.engine.idle()
    story = AutoLog(threads.PILOT)
    for record in await project.journal.read(name):
        story.take(record.event)
    return _print_result(name, story, as_json=as_json)


def _print_result(name: RunId, story: AutoLog, *, as_json: bool) -> int:
    from allstop.views.auto import describe_decision, describe_step

    assert story.state is not None, "it was opened"
    state: AutoState = story.state.pilot
    steps = state.guide.steps if state.guide else ()
    if as_json:
        print_json({"run": name, "steps": steps, "decision": state.decision})
    else:
        for step in steps:
            echo(describe_step(step))
        if state.decision:
            echo(describe_decision(state.decision))
        if state.decision and state.decision.next_input:
            echo(f"next input: {state.decision.next_input}")
        echo(f"The log: allstop log {name}")
    if story.state.closed is None:
        echo(f"{name} was stopped or paused before it was done", err=True)
        return STOPPED
    return FINISHED if state.decision else FAILED
