"""People step in: approve, redo, reject, retry, skip, assign, pin, rollback, mode, clean."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.cli.output import Context, json_option, look, print_json, run
from allstop.core.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allstop.adapters.git.workspace.cleanup import Leftover
    from allstop.adapters.git.workspace.orphan_refs import OrphanRefs
    from allstop.app.project import Project
    from allstop.core.commands import Approve, Command, RollBack, TaskCommand
    from allstop.core.errors import AllstopError


def say_of_task(
    context: Context, task_id: str, command: TaskCommand, done: str, *, as_json: bool
) -> None:
    with context.project() as project:
        told = run(lambda: _tell(project, command))
    if as_json:
        shown = {"task": task_id, "command": command, "driven": told.driven, "waits": told.waits}
        print_json(shown)
        return
    click.echo(f"{task_id}: {done}.")
    if not told.driven:
        click.echo("The board is at rest; `allstop run` puts it to work.")
    elif told.waits:
        _say_it_waits(told.waits)


class Told(NamedTuple):
    driven: bool  # somebody drives the board
    waits: str  # why it starts nothing all the same, until a person lets it


def _say_it_waits(why: str, *, err: bool = False) -> None:
    click.echo(f"{why}: the loop waits for you. `allstop resume board` goes on.", err=err)


async def _tell(project: Project, *commands: Command) -> Told:
    from allstop.app.board import commands as board
    from allstop.core.ids import BOARD

    told = await board.tell(project, lambda state: commands)
    return Told(BOARD in project.journal.holders(), told.state.brake_reason)


@click.command()
@click.argument("task_ids", nargs=-1, metavar="ID...")
@json_option
@click.pass_obj
def approve(context: Context, task_ids: tuple[str, ...], as_json: bool) -> int:
    """Merge work that waits for review; here and now, unless the board is at work.

    What could not be merged is tried again, as it is: `allstop retry` has the agent work on it.
    """
    from allstop.core.commands import Approve

    commands = [Approve(task=task) for task in task_ids]
    with context.project() as project:
        if not commands:
            raise look(lambda: _none_named(project))
        done = "the process that drives the board merges it"
        return run(lambda: _drive(project, commands, done, as_json=as_json))


async def _none_named(project: Project) -> AllstopError:
    from allstop.app.board.commands import read
    from allstop.core.errors import AllstopError
    from allstop.core.tasks import Status

    tasks = (await read(project)).state.board.tasks()
    waiting = [task.id for task in tasks if task.status is Status.REVIEW]
    hint = f"allstop approve {' '.join(waiting)}" if waiting else "no task waits for review"
    return AllstopError("the id of a task is missing", hint, code="task_not_named")


async def _drive(
    project: Project, commands: Sequence[Approve | RollBack], done: str, *, as_json: bool
) -> int:
    """Carry this out here and start nothing else, unless another process drives the board."""
    from allstop.app.board.board_spec import board_spec
    from allstop.app.runs.commands import refuse_if_stopped
    from allstop.cli.board.run_board import work
    from allstop.core.ids import BOARD

    if BOARD in project.journal.holders():
        told = await _tell(project, *commands)
        click.echo(f"Said; {done}.", err=as_json)
        if told.waits:
            _say_it_waits(told.waits, err=as_json)
        return 0
    await refuse_if_stopped(project)
    only = [command.task for command in commands]
    spec = board_spec(project, count=0)
    return await work(project, spec, lambda state: commands, only=only, as_json=as_json)


@click.command()
@click.argument("task_id", metavar="ID")
@click.option("-m", "--message", "text", required=True, help="What is to be done otherwise.")
@json_option
@click.pass_obj
def redo(context: Context, task_id: str, text: str, as_json: bool) -> None:
    """Send work that waits for review back to the agent, with a comment."""
    from allstop.core.commands import Redo

    say_of_task(context, task_id, Redo(task=task_id, text=text), "goes back", as_json=as_json)


@click.command()
@click.argument("task_id", metavar="ID")
@json_option
@click.pass_obj
def reject(context: Context, task_id: str, as_json: bool) -> None:
    """Cancel a task whose work waits for review; the work is kept."""
    from allstop.app.board import commands as board
    from allstop.cli.board.tasks import say_who_waits
    from allstop.core.commands import Reject

    say_of_task(
        context, task_id, Reject(task=task_id), "is rejected; its work is kept", as_json=as_json
    )
    if not as_json:
        with context.project() as project:
            waiting = look(lambda: board.waiting_for(project, task_id))
        say_who_waits(task_id, waiting)


@click.command()
@click.argument("task_id", metavar="ID")
@click.option("-m", "--message", "text", default="", help="Something its agent should know.")
@json_option
@click.pass_obj
def retry(context: Context, task_id: str, text: str, as_json: bool) -> None:
    """Try a task again that failed, timed out or was blocked; its workspace is kept."""
    from allstop.core.commands import Retry

    command = Retry(task=task_id, text=f"A person says: {text}" if text else "")
    with context.project() as project:
        behind = look(lambda: _behind(project, task_id))
    say_of_task(context, task_id, command, "will be tried again", as_json=as_json)
    if behind and not as_json:
        click.echo(
            f"Its workspace is {counted(behind, 'commit')} behind the target branch;"
            f" `allstop clean --force {task_id}` lets it begin anew from there."
        )


async def _behind(project: Project, task_id: str) -> int:
    """What has been rolled back begins anew by itself."""
    from allstop.app.board import commands as board
    from allstop.app.runtime import commits_behind

    task = await board.find(project, task_id)
    return 0 if task.held else commits_behind(project, task)


@click.command()
@click.argument("task_id", metavar="ID")
@json_option
@click.pass_obj
def skip(context: Context, task_id: str, as_json: bool) -> None:
    """Go on as if a task were done."""
    from allstop.core.commands import Skip

    say_of_task(context, task_id, Skip(task=task_id), "is skipped", as_json=as_json)


@click.command()
@click.argument("task_id", metavar="ID")
@click.argument("agent", required=False)
@json_option
@click.pass_obj
def assign(context: Context, task_id: str, agent: str | None, as_json: bool) -> None:
    """Start this one next, whatever the mode; with AGENT, by that one."""
    from allstop.core.commands import Assign
    from allstop.core.ids import AgentName

    if agent is not None:
        from allstop.app.agents.registry import chosen

        with context.project() as project:
            chosen(project, agent)
    command = Assign(task=task_id, agent=AgentName(agent) if agent else None)
    say_of_task(context, task_id, command, "is assigned", as_json=as_json)


@click.command()
@click.argument("task_ids", nargs=-1, required=True, metavar="ID...")
@click.option("--off", is_flag=True, help="Let its score decide again.")
@json_option
@click.pass_obj
def pin(context: Context, task_ids: tuple[str, ...], off: bool, as_json: bool) -> None:
    """Put a task in front of all scores; several in this order."""
    from allstop.core.commands import Order, Pin
    from allstop.core.errors import AllstopError

    if len(task_ids) == 1:
        done = "is where its score puts it" if off else "is next"
        say_of_task(context, task_ids[0], Pin(task=task_ids[0], on=not off), done, as_json=as_json)
        return
    if off:
        raise AllstopError(
            "--off takes one task at a time", "allstop pin --off ID", code="one_task_only"
        )
    names = ", ".join(task_ids)
    say_of_task(context, names, Order(tasks=task_ids), "come next, in this order", as_json=as_json)


@click.command()
@click.argument("task_id", metavar="ID")
@json_option
@click.pass_obj
def rollback(context: Context, task_id: str, as_json: bool) -> int:
    """Take a task's work out of the target branch again, or throw away what isn't merged.

    What is merged is reverted by a new commit; what isn't is kept under refs/allstop/backup. The
    task is pending again, and starts when you say so: `allstop retry ID`.
    """
    with context.project() as project:
        return run(lambda: _roll_back(project, task_id, as_json=as_json))


async def _roll_back(project: Project, task_id: str, *, as_json: bool) -> int:
    from allstop.app.board.cleanup import take_back, to_roll_back
    from allstop.app.board.commands import find
    from allstop.board.task_commands import is_merged
    from allstop.cli.output import FAILED, WAITS
    from allstop.core.commands import RollBack
    from allstop.core.tasks import Status

    task = await to_roll_back(project, task_id)
    command = RollBack(task=task_id)
    if is_merged(task):
        done = "the process that drives the board reverts it"
        code = await _drive(project, [command], done, as_json=as_json)
        task = await find(project, task_id)
        if task.status is Status.DONE:
            click.echo(f"{task_id}: {task.note}", err=True)
            by_hand = f"git revert -m 1 {task.merged[:10]}"
            click.echo(f"hint: `allstop log {task_id}` says why; by hand: {by_hand}", err=True)
            return FAILED
        return 0 if task.status is Status.PENDING and code == WAITS else code
    driven = (await _tell(project, command)).driven
    kept = await take_back(project, task_id)
    if as_json:
        print_json({"task": task_id, "kept": kept, "driven": driven})
    else:
        click.echo(
            f"{task_id} is pending again." + (f" Its work is kept as {kept}." if kept else "")
        )
    return 0


@click.command()
@click.argument("mode", type=click.Choice(["autopilot", "semi"]))
@json_option
@click.pass_obj
def mode(context: Context, mode: str, as_json: bool) -> None:
    """Who picks tasks: the loop, or you. It holds at once, also while the board is at work, and for
    later runs; `allstop run --mode` is for one.
    """
    from allstop.core.board_specs import Mode
    from allstop.core.commands import SetMode

    with context.project() as project:
        driven = run(lambda: _tell(project, SetMode(mode=Mode(mode)))).driven
    if as_json:
        print_json({"mode": mode, "driven": driven})
    else:
        click.echo(f"The board is on {mode}.")


@click.command()
@click.argument("task_id", metavar="ID")
@click.argument("titles", nargs=-1, required=True, metavar="TITLE...")
@json_option
@click.pass_obj
def split(context: Context, task_id: str, titles: tuple[str, ...], as_json: bool) -> None:
    """Put smaller tasks in the place of one; whatever needed it needs all of them."""
    from allstop.app.board import commands as board

    with context.project() as project:
        made = run(lambda: board.split(project, task_id, titles))
    if as_json:
        print_json({"task": task_id, "into": made})
    else:
        click.echo(f"{task_id} is split into {', '.join(made)}.")


@click.command()
@click.argument("names", nargs=-1, metavar="[ID]...")
@click.option("--yes", is_flag=True, help="Remove what can go without loss.")
@click.option("--force", is_flag=True, help="With IDs: also unmerged work; its commits are kept by a ref.")  # fmt: skip
@json_option
@click.pass_obj
def clean(context: Context, names: tuple[str, ...], yes: bool, force: bool, as_json: bool) -> int:
    """Show which workspaces can go; with --yes, remove them. Unmerged work stays.

    With IDs, only these; --force removes them although they hold unmerged work, and keeps their
    commits under refs/allstop/backup. What a linked checkout (`git worktree`) has left that is gone
    is shown as @ and the name git had for it, which is its ID here.
    """
    from allstop.core.errors import AllstopError

    if force and not names:
        raise AllstopError(
            "--force needs the ids of tasks", "allstop clean --force ID", code="task_not_named"
        )
    with context.project() as project:
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
        click.echo(f"{each.name:<10} {each.size_bytes / 1e6:8.1f} MB  {each.state}  {can}")
    for left in gone:
        whose = one_line(", ".join(left.workspaces), 40)
        what = f"{counted(left.refs, 'ref')} of {whose}, left by a checkout that is gone"
        can = "can go" if left.is_safe else f"stays: {left.why_unsafe}"
        click.echo(f"{left.name:<10} {what}  {can}")
    if not found and not gone:
        click.echo("Nothing to clean.")
    elif any(each.is_safe for each in found) or any(left.is_safe for left in gone):
        click.echo("Remove what can go: allstop clean --yes")
    if kept:
        click.echo(
            f"Kept for tasks that stand still: {one_line(', '.join(kept), 60)}."
            f" One begins anew after: allstop clean --force {kept[0]}"
        )


async def _clean(
    project: Project, names: list[str], *, yes: bool, force: bool, as_json: bool
) -> int:
    from allstop.app.board import cleanup
    from allstop.app.board.commands import find
    from allstop.core.errors import AllstopError

    found = [each for each in await cleanup.leftovers(project) if not names or each.name in names]
    gone = [each for each in await cleanup.of_checkouts(project) if not names or each.name in names]
    both: list[Leftover | OrphanRefs] = [*found, *gone]
    for name in set(names) - {each.name for each in both}:
        if name.startswith("@"):
            raise AllstopError(
                f"no removed checkout {name[1:]!r} has left anything to clean",
                "`allstop clean` lists everything that can be removed",
                code="checkout_not_found",
            )
        await find(project, name)  # a workspace may be left of what is no task, but not the reverse
    if not yes:
        stalled = [name for name in await cleanup.kept(project) if not names or name in names]
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
            click.echo(f"{removal.name}: removed{freed}{kept}{lost}")
        else:
            click.echo(f"{removal.name}: stays: {removal.reason}")
    if not done:
        click.echo("Nothing to clean.")
    return 0 if all(each.removed for each in done) else 1
