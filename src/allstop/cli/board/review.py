"""Commands with which people decide about tasks, from approve and redo to rollback and clean."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.cli.argument_types import TASK
from allstop.cli.output import Context, echo, json_option, look, print_json, run
from allstop.core.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allstop.adapters.git.workspace.cleanup import Leftover
    from allstop.adapters.git.workspace.orphan_refs import OrphanRefs
    from allstop.app.project import Project
    from allstop.core.commands import Approve, Command, Reject, RollBack, TaskCommand
    from allstop.core.errors import AllstopError


def command_task(
    context: Context, task_id: str, command: TaskCommand, done: str, *, as_json: bool
) -> None:
    """Send a command about a task to the board, and print `done` or the JSON form of it."""
    with context.project() as project:
        delivery = run(lambda: _send(project, command))
    if as_json:
        shown = {
            "task": task_id,
            "command": command,
            "driven": delivery.driven,
            "waits": delivery.waits,
        }
        print_json(shown)
        return
    echo(f"{task_id}: {done}.")
    if not delivery.driven:
        echo("No process drives the board; `allstop run` starts it.")
    elif delivery.waits:
        _print_wait(delivery.waits)


class Delivery(NamedTuple):
    """The state of the board after a command was written."""

    driven: bool  # by some process
    waits: str  # why the loop starts nothing until a person resumes it


def _print_wait(why: str, *, err: bool = False) -> None:
    echo(f"{why}: the loop waits for you. `allstop resume board` goes on.", err=err)


async def _send(project: Project, *commands: Command) -> Delivery:
    from allstop.app.board import commands as board
    from allstop.core.ids import BOARD

    delivery = await board.send_commands(project, lambda state: commands)
    return Delivery(BOARD in project.journal.holders(), delivery.state.brake_reason)


@click.command()
@click.argument("task_ids", nargs=-1, metavar="ID...", type=TASK)
@click.option("--yes", is_flag=True, help="Approve work with findings without a question.")
@json_option
@click.pass_obj
def approve(context: Context, task_ids: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Merge work that waits for review, or start a queued run.

    If the checks of the gate found something in the work, such as a deleted test, the findings are
    shown and you are asked.

    This terminal merges it at once, unless another process drives the board. A merge that failed
    before is tried again with the same work; `allstop retry` lets the agent change it.

    \b
    Examples:
      allstop approve T1 T2
    """
    from allstop.core.commands import Approve

    with context.project() as project:
        if not task_ids:
            raise look(lambda: _missing_id_error(project))
        if len(task_ids) == 1:
            command = Approve(task=task_ids[0])
            code = run(partial(_command_run, context, project, command, as_json=as_json))
            if code is not None:
                return code
        confirmed = yes or _confirm_findings(project, task_ids, as_json=as_json)
        commands = [Approve(task=task, confirmed=confirmed) for task in task_ids]
        done = "the process that drives the board merges the work"
        return run(lambda: drive_board(project, commands, done, as_json=as_json))


async def _command_run(
    context: Context, project: Project, command: Approve | Reject, *, as_json: bool
) -> int | None:
    """Send it to the run of that name if the run takes it itself, such as a queued start."""
    from allstop.cli.queued_start import command_run

    return await command_run(project, context.run_kinds, command.task, command, as_json=as_json)


def _confirm_findings(project: Project, task_ids: Sequence[str], *, as_json: bool) -> bool:
    """Show the findings of these tasks and ask; False if there are none or nobody can answer."""
    from allstop.app.board.commands import find_task
    from allstop.core.tasks import Status

    if as_json or not sys.stdin.isatty():
        return False
    tasks = [look(partial(find_task, project, task_id)) for task_id in task_ids]
    found = [task for task in tasks if task.status is Status.REVIEW and task.findings]
    for task in found:
        echo(f"! {task.id} {task.findings}", err=True)
    return bool(found) and click.confirm(
        "Approve it?" if len(found) == 1 else "Approve them?", err=True
    )


async def _missing_id_error(project: Project) -> AllstopError:
    from allstop.app.board.commands import read
    from allstop.core.errors import AllstopError
    from allstop.core.tasks import Status

    tasks = (await read(project)).state.board.tasks()
    waiting = [task.id for task in tasks if task.status is Status.REVIEW]
    hint = f"allstop approve {' '.join(waiting)}" if waiting else "no task waits for review"
    return AllstopError("the id of a task is missing", hint, code="task_not_named")


async def drive_board(
    project: Project,
    commands: Sequence[Approve | RollBack],
    done: str,
    *,
    as_json: bool,
    only: Sequence[str] = (),
) -> int:
    """Carry out the commands in this terminal, or let the process that drives the board do it.

    The board acts on their tasks, and on those of `only`.
    """
    from allstop.app.board.board_spec import board_spec
    from allstop.app.board.commands import read
    from allstop.app.runs.commands import refuse_if_stopped
    from allstop.cli.board.run_board import run_board
    from allstop.core.ids import BOARD

    if BOARD in project.journal.holders():
        delivery = await _send(project, *commands)
        echo(f"Accepted: {done}.", err=as_json)
        if delivery.waits:
            _print_wait(delivery.waits, err=as_json)
        return 0
    await refuse_if_stopped(project)
    only = [*only, *(command.task for command in commands)]
    chosen = (await read(project)).state.chosen
    spec = board_spec(project, mode=chosen, count=0, only=only)
    return await run_board(project, spec, lambda state: commands, only=only, as_json=as_json)


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@click.option("-m", "--message", "text", required=True, help="What the agent should change.")
@json_option
@click.pass_obj
def redo(context: Context, task_id: str, text: str, as_json: bool) -> None:
    """Send work back to its agent, with a comment.

    \b
    Examples:
      allstop redo T1 -m "Keep the old option as an alias."
    """
    from allstop.core.commands import Redo

    command_task(
        context, task_id, Redo(task=task_id, text=text), "goes back to its agent", as_json=as_json
    )


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@json_option
@click.pass_obj
def reject(context: Context, task_id: str, as_json: bool) -> int:
    """Cancel a task that waits for review, or drop a queued start. Work is kept."""
    from allstop.app.board import commands as board
    from allstop.cli.board.tasks import print_waiting_tasks
    from allstop.core.commands import Reject

    with context.project() as project:
        command = Reject(task=task_id)
        code = run(partial(_command_run, context, project, command, as_json=as_json))
        if code is not None:
            return code
    command_task(
        context, task_id, Reject(task=task_id), "is rejected; its work is kept", as_json=as_json
    )
    if not as_json:
        with context.project() as project:
            waiting = look(lambda: board.tasks_waiting_for(project, task_id))
        print_waiting_tasks(task_id, waiting)
    return 0


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@click.option("-m", "--message", "text", default="", help="A message for its agent.")
@json_option
@click.pass_obj
def retry(context: Context, task_id: str, text: str, as_json: bool) -> None:
    """Try a failed task again in its workspace.

    This also applies to tasks that timed out, were blocked, cancelled or rolled back.
    """
    from allstop.core.commands import Retry

    command = Retry(task=task_id, text=f"A person says: {text}" if text else "")
    with context.project() as project:
        behind = look(lambda: _commits_behind(project, task_id))
    command_task(context, task_id, command, "will be tried again", as_json=as_json)
    if behind and not as_json:
        echo(
            f"Its workspace is {counted(behind, 'commit')} behind the target branch;"
            f" `allstop clean --force {task_id}` lets it start over from that branch."
        )


async def _commits_behind(project: Project, task_id: str) -> int:
    """How far the workspace is behind; 0 after a rollback, which starts over anyway."""
    from allstop.app.board import commands as board
    from allstop.app.runtime import commits_behind

    task = await board.find_task(project, task_id)
    return 0 if task.held else commits_behind(project, task)


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@json_option
@click.pass_obj
def skip(context: Context, task_id: str, as_json: bool) -> None:
    """Treat a task as done without doing it. Tasks that need it can start."""
    from allstop.core.commands import Skip

    command_task(context, task_id, Skip(task=task_id), "is skipped", as_json=as_json)


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@click.argument("agent", required=False)
@json_option
@click.pass_obj
def assign(context: Context, task_id: str, agent: str | None, as_json: bool) -> None:
    """Start a task next, in any mode. With AGENT, that agent does it."""
    from allstop.core.commands import Assign
    from allstop.core.ids import AgentName

    if agent is not None:
        from allstop.app.agents.registry import task_agents

        with context.project() as project:
            task_agents(project, agent)
    command = Assign(task=task_id, agent=AgentName(agent) if agent else None)
    command_task(context, task_id, command, "is assigned", as_json=as_json)


@click.command()
@click.argument("task_ids", nargs=-1, required=True, metavar="ID...", type=TASK)
@click.option("--off", is_flag=True, help="Unpin the task.")
@json_option
@click.pass_obj
def pin(context: Context, task_ids: tuple[str, ...], off: bool, as_json: bool) -> None:
    """Put tasks at the front of the queue. Several keep the given order."""
    from allstop.core.commands import Order, Pin
    from allstop.core.errors import AllstopError

    if len(task_ids) == 1:
        done = "is no longer pinned" if off else "is next"
        command_task(context, task_ids[0], Pin(task=task_ids[0], on=not off), done, as_json=as_json)
        return
    if off:
        raise AllstopError(
            "--off takes one task at a time", "allstop pin --off ID", code="one_task_only"
        )
    names = ", ".join(task_ids)
    command_task(context, names, Order(tasks=task_ids), "come next, in this order", as_json=as_json)


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@json_option
@click.pass_obj
def rollback(context: Context, task_id: str, as_json: bool) -> int:
    """Revert or discard the work of a task.

    Merged work is reverted by a new commit. Unmerged work is kept under refs/allstop/backup. The
    task is pending afterwards, and starts only after `allstop retry ID`.
    """
    with context.project(repairs=True) as project:
        return run(lambda: _roll_back_task(project, task_id, as_json=as_json))


def _print_repair_note(project: Project) -> None:
    """Say which settings apply if those of the repository can't be read."""
    project.loaded  # noqa: B018 - reads the files
    if project.repair_note:
        echo(f"note: {project.repair_note}", err=True)


async def _roll_back_task(project: Project, task_id: str, *, as_json: bool) -> int:
    from allstop.app.board.cleanup import check_rollback, discard_work_and_branch
    from allstop.app.board.commands import find_task
    from allstop.board.task_commands import is_merged
    from allstop.cli.output import FAILED, WAITS
    from allstop.core.commands import RollBack
    from allstop.core.tasks import Status

    task = await check_rollback(project, task_id)
    command = RollBack(task=task_id)
    if is_merged(task):
        done = "the process that drives the board reverts the work"
        code = await drive_board(project, [command], done, as_json=as_json)
        task = await find_task(project, task_id)
        if task.status is Status.DONE:
            echo(f"{task_id}: {task.note}", err=True)
            by_hand = f"git revert -m 1 {task.merged[:10]}"
            echo(f"hint: see `allstop log {task_id}`; by hand: {by_hand}", err=True)
            return FAILED
        return 0 if task.status is Status.PENDING and code == WAITS else code
    _print_repair_note(project)
    driven = (await _send(project, command)).driven
    kept = await discard_work_and_branch(project, task_id)
    if as_json:
        print_json({"task": task_id, "kept": kept, "driven": driven})
    else:
        echo(f"{task_id} is pending again." + (f" Its work is kept as {kept}." if kept else ""))
    return 0


@click.command()
@click.argument("mode", type=click.Choice(["autopilot", "semi"]), required=False)
@json_option
@click.pass_obj
def mode(context: Context, mode: str | None, as_json: bool) -> None:
    """Choose who picks tasks: the loop or you. Without MODE, print the mode.

    With autopilot the loop starts every ready task, with semi only tasks that you assign. The mode
    applies at once and to later runs; `allstop run --mode` sets it for one call.
    """
    from allstop.core.board_specs import Mode
    from allstop.core.commands import SetMode

    with context.project() as project:
        if mode is None:
            chosen = look(lambda: _mode(project))
            print_json({"mode": chosen}) if as_json else echo(chosen)
            return
        driven = run(lambda: _send(project, SetMode(mode=Mode(mode)))).driven
    if as_json:
        print_json({"mode": mode, "driven": driven})
    else:
        echo(f"The mode of the board is {mode}.")


async def _mode(project: Project) -> str:
    from allstop.app.board.commands import read

    known = await read(project)
    return (known.state.spec.mode if known.exists else project.settings.loop.mode).value


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@click.argument("titles", nargs=-1, required=True, metavar="TITLE...")
@json_option
@click.pass_obj
def split(context: Context, task_id: str, titles: tuple[str, ...], as_json: bool) -> None:
    """Replace a task by smaller ones. Tasks that needed it need all of them.

    \b
    Examples:
      allstop split T3 "Parse the file" "Write the report"
    """
    from allstop.app.board import commands as board

    with context.project() as project:
        made = run(lambda: board.split(project, task_id, titles))
    if as_json:
        print_json({"task": task_id, "into": made})
    else:
        echo(f"{task_id} is split into {', '.join(made)}.")


@click.command()
@click.argument("names", nargs=-1, metavar="[ID]...", type=TASK)
@click.option("--yes", is_flag=True, help="Remove the workspaces that hold nothing unmerged.")
@click.option("--force", is_flag=True, help="With IDs: remove unmerged work too; a ref keeps its commits.")  # fmt: skip
@json_option
@click.pass_obj
def clean(context: Context, names: tuple[str, ...], yes: bool, force: bool, as_json: bool) -> int:
    """Show or remove workspaces that can be removed. Unmerged work stays.

    With IDs, only those workspaces. --force removes them even with unmerged work, and keeps the
    commits under refs/allstop/backup. Refs left by a removed linked checkout (`git worktree`) are
    listed as @ and its name, which is the ID to use here.

    \b
    Examples:
      allstop clean                list them
      allstop clean --yes          remove those that hold nothing unmerged
      allstop clean --force T4     remove one with its unmerged work
    """
    from allstop.core.errors import AllstopError

    if force and not names:
        raise AllstopError(
            "--force needs the ids of tasks", "allstop clean --force ID", code="task_not_named"
        )
    with context.project(repairs=True) as project:
        _print_repair_note(project)
        return run(
            lambda: _clean(project, list(names), yes=yes or force, force=force, as_json=as_json)
        )


def _show_leftovers(
    found: list[Leftover], gone: list[OrphanRefs], kept: list[str], *, as_json: bool
) -> None:
    if as_json:
        print_json({"workspaces": found, "checkouts": gone, "kept": kept})
        return
    for each in found:
        can = "can go" if each.is_safe else f"stays: {each.why_unsafe}"
        echo(f"{each.name:<10} {each.size_bytes / 1e6:8.1f} MB  {each.state}  {can}")
    for orphan in gone:
        whose = one_line(", ".join(orphan.workspaces), 40)
        what = f"{counted(orphan.refs, 'ref')} of {whose}, left by a removed checkout"
        can = "can go" if orphan.is_safe else f"stays: {orphan.why_unsafe}"
        echo(f"{orphan.name:<10} {what}  {can}")
    if not found and not gone:
        echo("Nothing to clean.")
    elif any(each.is_safe for each in found) or any(orphan.is_safe for orphan in gone):
        echo("Remove those that can go: allstop clean --yes")
    if kept:
        echo(
            f"Kept for unfinished tasks: {one_line(', '.join(kept), 60)}."
            f" To start one over: allstop clean --force {kept[0]}"
        )


async def _clean(
    project: Project, names: list[str], *, yes: bool, force: bool, as_json: bool
) -> int:
    from allstop.app.board import cleanup
    from allstop.app.board.commands import find_task
    from allstop.core.errors import AllstopError

    found = [each for each in await cleanup.leftovers(project) if not names or each.name in names]
    gone = [each for each in await cleanup.orphan_refs(project) if not names or each.name in names]
    both: list[Leftover | OrphanRefs] = [*found, *gone]
    for name in set(names) - {each.name for each in both}:
        if name.startswith("@"):
            raise AllstopError(
                f"no removed checkout {name[1:]!r} has left anything to clean",
                "`allstop clean` lists everything that can be removed",
                code="checkout_not_found",
            )
        await find_task(
            project, name
        )  # a leftover workspace may have no task, so this comes second
    if not yes:
        stalled = [
            name for name in await cleanup.kept_for_people(project) if not names or name in names
        ]
        _show_leftovers(found, gone, stalled, as_json=as_json)
        return 0
    chosen = names if force else [each.name for each in both if each.is_safe or names]
    done = await cleanup.remove(project, chosen, force=force)
    if as_json:
        print_json({"removed": done})
        return 0
    for removal in done:
        if removal.removed:
            kept = f"; its commits are kept as {removal.backup}" if removal.backup else ""
            lost = f"; {removal.reason}" if removal.reason else ""
            freed = f", {removal.freed_bytes / 1e6:.1f} MB" if removal.name[0] != "@" else ""
            echo(f"{removal.name}: removed{freed}{kept}{lost}")
        else:
            echo(f"{removal.name}: stays: {removal.reason}")
    if not done:
        echo("Nothing to clean.")
    return 0 if all(each.removed for each in done) else 1
