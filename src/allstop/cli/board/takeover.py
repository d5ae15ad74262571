"""The commands `take` and `give`: a person works on a task by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.argument_types import TASK
from allstop.cli.output import Context, echo, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.app.board.takeover import Handover

_at = click.option(
    "--at",
    type=click.Path(path_type=Path),
    help="The folder of the clone; by default next to the repository.",
)


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@_at
@json_option
@click.pass_obj
def take(context: Context, task_id: str, at: Path | None, as_json: bool) -> None:
    """Take over a task by hand, in your own clone.

    Its agent pauses after the current turn. A task whose agent crashed or failed doesn't start
    before you give it back or retry it.

    \b
    Examples:
      allstop take T2 --at ../t2
      allstop give T2 --at ../t2
    """
    from allstop.app.board import takeover

    with context.project() as project:
        place = (at or takeover.default_folder(project, task_id)).absolute()
        taken = run(lambda: takeover.take(project, task_id, place))
    if as_json:
        print_json(_shown(task_id, taken))
        return
    echo(f"{task_id} is yours: {taken.at}, at {taken.commit[:10]}. No agent works on it meanwhile.")
    more = f" --at {taken.at}" if at else ""
    echo(f"Commit there, then: allstop give {task_id}{more}")


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@_at
@json_option
@click.pass_obj
def give(context: Context, task_id: str, at: Path | None, as_json: bool) -> None:
    """Give a task back to its agent. The agent continues from your commits."""
    from allstop.app.board import takeover

    with context.project() as project:
        place = (at or takeover.default_folder(project, task_id)).absolute()
        given = run(lambda: takeover.give(project, task_id, place))
    if as_json:
        print_json(_shown(task_id, given))
        return
    echo(f"{task_id}: its agent continues from {given.commit[:10]}. {given.at} is still yours.")
    if not given.driven:
        echo(f"No process drives it; continue with `allstop run {task_id}`.")


def _shown(task_id: str, handed: Handover) -> dict[str, object]:
    return {"task": task_id, "at": handed.at, "commit": handed.commit, "driven": handed.driven}
