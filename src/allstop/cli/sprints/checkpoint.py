"""The command `checkpoint`: lists checkpoints, and returns to one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from allstop.cli.output import FAILED, WAITS, Context, echo, json_option, look, print_json, run
from allstop.core.errors import AllstopError
from allstop.core.text import counted, one_line

if TYPE_CHECKING:
    from allstop.app.board.checkpoints import Undo
    from allstop.app.project import Project

SHOWN = 20
"""So many commits that stay are listed."""


@click.group()
def checkpoint() -> None:
    """List the checkpoints of sprints, or return to one.

    \b
    Examples:
      allstop checkpoint show sprint3
      allstop checkpoint restore sprint3
    """


@checkpoint.command("list")
@json_option
@click.pass_obj
def list_(context: Context, as_json: bool) -> None:
    """List the checkpoints, the newest first."""
    from allstop.app.board.checkpoints import checkpoint_views

    with context.project() as project:
        found = look(lambda: checkpoint_views(project)) if project.has_store else []
    if as_json:
        print_json({"checkpoints": found})
        return
    if not found:
        echo("No checkpoint yet. A sprint makes one: allstop sprint start --checkpoint")
    for each in found:
        echo(f"{each.id}  {each.at.astimezone():%Y-%m-%d %H:%M}  {each.target} {each.commit[:10]}")


@checkpoint.command()
@click.argument("name", metavar="CHECKPOINT")
@json_option
@click.pass_obj
def show(context: Context, name: str, as_json: bool) -> None:
    """Show what returning to a checkpoint would undo."""
    from allstop.app.board.checkpoints import undo_of

    with context.project() as project:
        undo = run(lambda: undo_of(project, name))
    if as_json:
        print_json(undo)
        return
    for line in undo_lines(undo):
        echo(line)


@checkpoint.command()
@click.argument("name", metavar="CHECKPOINT")
@click.option("--yes", is_flag=True, help="Do it without a question.")
@json_option
@click.pass_obj
def restore(context: Context, name: str, yes: bool, as_json: bool) -> int:
    """Undo all work on tasks since a checkpoint, after showing it and asking.

    Merged work is reverted by new commits, the latest first. Unmerged work is kept under
    refs/allstop/backup. No branch and no record is rewritten. Your own commits stay. The tasks are
    pending afterwards, and start only after `allstop retry ID`.
    """
    with context.project() as project:
        return run(lambda: _restore(project, name, yes=yes, as_json=as_json))


async def _restore(project: Project, name: str, *, yes: bool, as_json: bool) -> int:
    from allstop.app.board.checkpoints import (
        discard_unmerged,
        refuse_if_at_work,
        revert_commands,
        undo_of,
    )
    from allstop.app.board.commands import find_task
    from allstop.board.task_commands import is_merged
    from allstop.cli.board.review import drive_board

    undo = await undo_of(project, name)
    for line in undo_lines(undo):
        echo(line, err=as_json)
    if not undo.merged and not undo.unmerged:
        if as_json:
            print_json({"checkpoint": undo.checkpoint.id, "reverted": [], "kept": {}})
        return 0
    await refuse_if_at_work(project, undo)
    if not yes:
        _confirm()
    kept = await discard_unmerged(project, undo)
    for done_task, ref in kept.items():
        echo(
            f"{done_task} is pending again." + (f" Its work is kept as {ref}." if ref else ""),
            err=as_json,
        )
    if not undo.merged:
        return 0
    done = "the process that drives the board reverts the work"
    tasks = [each.id for each in undo.merged]
    commands = revert_commands(undo)
    code = await drive_board(project, commands, done, as_json=as_json, only=tasks)
    failed = [task for each in undo.merged if is_merged(task := await find_task(project, each.id))]
    for task in failed:
        echo(f"{task.id}: {task.note}", err=True)
    if failed:
        return FAILED
    return 0 if code == WAITS else code


def _confirm() -> None:
    """Raises AllstopError if nobody can answer, or the answer is no."""
    if not sys.stdin.isatty():
        hint = "add --yes to do it"
        raise AllstopError("nothing was undone: nobody confirmed it", hint, code="not_confirmed")
    if not click.confirm("Undo it?"):
        raise AllstopError("nothing was undone", "", code="not_confirmed")


def undo_lines(undo: Undo) -> Iterator[str]:
    target, made = undo.checkpoint.target, undo.checkpoint
    yield f"{made.id}: {target} was at {made.commit[:10]}, {made.at.astimezone():%Y-%m-%d %H:%M}"
    if not undo.merged and not undo.unmerged:
        yield "Nothing is to be undone."
    if undo.merged:
        yield f"Reverted on {target}, by a new commit each:"
    for task in undo.merged:
        yield f"  {task.commit[:10]}  {task.id}  {one_line(task.title, 60)}"
    if undo.unmerged:
        yield "Unmerged work, discarded and kept under refs/allstop/backup:"
    for task in undo.unmerged:
        yield f"  {task.status:<10}  {task.id}  {one_line(task.title, 60)}"
    if undo.kept:
        yield f"{counted(len(undo.kept), 'other commit')} on {target} stay:"
    for commit in undo.kept[:SHOWN]:
        yield f"  {commit.commit[:10]}  {one_line(commit.subject, 70)}"
    if len(undo.kept) > SHOWN:
        yield f"  … and {len(undo.kept) - SHOWN} more"
