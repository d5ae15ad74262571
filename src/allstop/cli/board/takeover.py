"""Working on a task by hand: take it over, give it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.app.board.takeover import Handover

_at = click.option(
    "--at", type=click.Path(path_type=Path), help="The clone's folder, else next to the repository."
)


@click.command()
@click.argument("task_id", metavar="ID")
@_at
@json_option
@click.pass_obj
def take(context: Context, task_id: str, at: Path | None, as_json: bool) -> None:
    """Take a task over by hand: its agent pauses after its turn, you get a clone of the work.

    One whose agent crashed or failed is not started before you give it back or retry it.
    """
    from allstop.app.board import takeover

    with context.project() as project:
        place = (at or takeover.default_folder(project, task_id)).absolute()
        taken = run(lambda: takeover.take(project, task_id, place))
    if as_json:
        print_json(_shown(task_id, taken))
        return
    click.echo(
        f"{task_id} is yours: {taken.at}, at {taken.commit[:10]}. Nobody else works on it meanwhile."
    )
    more = f" --at {taken.at}" if at else ""
    click.echo(f"Commit there, then: allstop give {task_id}{more}")


@click.command()
@click.argument("task_id", metavar="ID")
@_at
@json_option
@click.pass_obj
def give(context: Context, task_id: str, at: Path | None, as_json: bool) -> None:
    """Give a task back: its agent goes on from what you have committed."""
    from allstop.app.board import takeover

    with context.project() as project:
        place = (at or takeover.default_folder(project, task_id)).absolute()
        given = run(lambda: takeover.give(project, task_id, place))
    if as_json:
        print_json(_shown(task_id, given))
        return
    click.echo(f"{task_id}: its agent goes on from {given.commit[:10]}. {given.at} is still yours.")
    if not given.driven:
        click.echo(f"Nobody drives it now; `allstop run {task_id}` does.")


def _shown(task_id: str, handed: Handover) -> dict[str, object]:
    return {"task": task_id, "at": handed.at, "commit": handed.commit, "driven": handed.driven}
