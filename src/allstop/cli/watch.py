"""The command `watch`: prints the events of all runs as they happen."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.ports import PositionedRecord


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_obj
def watch(context: Context, as_json: bool) -> None:
    """Print the events of all runs as they happen.

    Ctrl-C ends the output; no run stops.
    """
    from allstop.cli.control import show_status

    if not as_json:
        show_status(context, as_json=False)
        echo("\nEvents from here on; Ctrl-C only ends this output.")
    with context.project() as project:
        run(lambda: _watch(project, as_json=as_json))


async def _watch(project: Project, *, as_json: bool) -> None:
    import anyio

    from allstop.app.live_runs import LiveRuns

    live_runs = LiveRuns(project)
    await live_runs.begin()
    live_runs.subscribe(lambda placed: _show(placed, as_json=as_json))
    async with anyio.create_task_group() as group:
        group.start_soon(live_runs.follow)
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                group.cancel_scope.cancel()


def _show(placed: Sequence[PositionedRecord], *, as_json: bool) -> None:
    from allstop.cli.record_lines import as_text, print_records
    from allstop.core.text import plain
    from allstop.views.log import lines

    for each in placed:
        if as_json:
            print_records([each.record], as_json=True)
            continue
        for line in lines(each.record.event):
            echo(f"{plain(each.record.run):<14} {as_text(line)}")
