"""Commands for tasks of the board: add, list, show, edit, rm, next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from allstop.cli.argument_types import MINUTES, TASK, may_change_option
from allstop.cli.output import Context, cells, echo, fitting, json_option, look, print_json, run
from allstop.core.text import counted, one_line, plain, token_count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from allstop.app.board.overview import TaskView
    from allstop.app.project import Project
    from allstop.core.commands import Command
    from allstop.core.moves import CheckResult, ChecksDone
    from allstop.core.tasks import Attempt, Task

MARKS = {
    "pending": "○",
    "active": "●",
    "waiting": "?",
    "review": "◆",
    "merging": "↥",
    "done": "✓",
    "blocked": "■",
    "failed": "✗",
    "timeout": "✗",
    "skipped": "-",
    "cancelled": "-",
}

AT_WORK = ("active", "waiting", "merging")
SHOWN_FIELDS = (
    "operation",
    "needs",
    "agent",
    "priority",
    "iterations",
    "minutes",
    "stuck_after",
    "may_change",
    "labels",
    "merged",
)
"""Fields of a task that `show` prints if they are set."""


def _split_commas(
    context: click.Context, option: click.Parameter, ids: Sequence[str]
) -> tuple[str, ...]:
    """Split values at commas; an id never contains one."""
    return tuple(each.strip() for some in ids for each in some.split(","))


def task_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `add` and `edit` share."""
    for option in (
        click.option("--label", "labels", multiple=True, metavar="LABEL", help="What a machine of a fleet must offer for it; may be repeated."),
        may_change_option,
        click.option("--stuck-after", type=click.IntRange(min=1), metavar="N", help="Warn after N turns without a commit."),
        click.option("--minutes", type=MINUTES, help="Time limit of one attempt."),
        click.option("--iterations", type=click.IntRange(min=1), help="Iteration limit of one attempt."),
        click.option("--priority", type=int, help="Among equal scores, a higher priority starts first."),
        click.option("--agent", help="The agent that does it; by default the first choice of [loop]."),
        click.option("--operation", help="The operation (a group of tasks) it belongs to."),
        click.option("--tag", "tags", multiple=True, help="A tag; may be repeated."),
        click.option("--needs", multiple=True, metavar="ID", type=TASK, callback=_split_commas, help="A task it waits for; several with commas, or repeated."),
        click.option("--body", help="What to do, in detail."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.argument("title")
@click.option("--id", "task_id", default="", help="Its id; by default the next T number.")
@click.option("--next", "pinned", is_flag=True, help="Put it at the front of the queue.")
@task_options
@json_option
@click.pass_obj
def add(
    context: Context, /, title: str, task_id: str, pinned: bool, as_json: bool, **given: Any
) -> None:
    """Add a task.

    \b
    Examples:
      allstop add "Fix the login test"
      allstop add "Document the API" --needs T1,T2 --agent claude --minutes 30
      allstop add "Round prices up" --may-change tests/test_prices.py
    """
    from allstop.app.board import commands as board
    from allstop.core.commands import Pin
    from allstop.core.tasks import NewTask

    values = {name: value for name, value in given.items() if value not in (None, ())}
    new = NewTask(id=task_id, title=title, **values)

    def then(task: Task) -> Sequence[Command]:
        return [Pin(task=task.id)] if pinned else []

    with context.project() as project:
        _check_agent(project, given["agent"])
        task = run(lambda: board.add(project, new, then))
        shown = look(lambda: _view(project, task.id))
    if as_json:
        print_json(shown)
    else:
        echo(f"{shown.id}  {one_line(shown.title, 200)}" + _waits(shown))


def _check_agent(project: Project, name: str | None) -> None:
    if name is not None:
        from allstop.app.agents.registry import task_agents

        task_agents(project, name)


async def _view(project: Project, task_id: str) -> TaskView:
    from allstop.app.board.overview import view_of

    return await view_of(project, task_id)


def _waits(task: TaskView) -> str:
    return f"  (waits for {', '.join(task.waits_for)})" if task.waits_for else ""


@click.command("list")
@click.option(
    "--status", "statuses", multiple=True, help="Only tasks with this status; may be repeated."
)
@click.option("--tag", help="Only tasks with this tag.")
@click.option("--operation", help="Only tasks of this operation.")
@json_option
@click.pass_obj
def list_(
    context: Context,
    statuses: tuple[str, ...],
    tag: str | None,
    operation: str | None,
    as_json: bool,
) -> None:
    """List the tasks."""
    from allstop.app.board.overview import overview

    with context.project() as project:
        _check_statuses(statuses)
        board = look(lambda: overview(project))
        is_somewhere = project.root is not None
    shown = [
        task
        for task in board.tasks
        if (not statuses or task.status in statuses)
        and (tag is None or tag in task.tags)
        and (operation is None or task.operation == operation)
    ]
    if as_json:
        print_json({"tasks": shown, "phase": board.phase, "mode": board.mode})
        return
    if not is_somewhere:
        echo("This folder is not in a git repository, so it has no board.")
    elif not board.tasks:
        echo('The board is empty. Add a task: allstop add "TITLE"')
    wide = max((len(task.id) for task in shown), default=0)
    for task in shown:
        echo(_line(task, wide))


def _check_statuses(statuses: tuple[str, ...]) -> None:
    from allstop.core.tasks import Status

    known = [status.value for status in Status]
    for status in statuses:
        if status not in known:
            raise click.BadParameter(
                f"{status!r} is not a status; use one of: {', '.join(known)}", param_hint="--status"
            )


def _line(task: TaskView, wide: int = 0) -> str:
    """A task in one line; `wide` is the longest id. A long title is shortened."""
    front = f"{MARKS[task.status]} {task.id:<{max(8, wide)}} {task.status:<9} "
    parts = [f"#{one_line(tag)}" for tag in task.tags]
    if task.pinned:
        parts.append("[pinned]")
    if task.held:
        parts.append("[held]")
    if task.note:
        parts.append(f"- {one_line(task.note, 80)}")
    rest = "".join(f"  {part}" for part in parts) + _waits(task)
    return front + fitting(task.title, 70, cells(front + rest)) + rest


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@click.option("--review", "as_evidence", is_flag=True, help="Show the evidence for a review, with the diff.")  # fmt: skip
@click.option("--receipt", "as_receipt", is_flag=True, help="Print the receipt of its verified tree, as JSON.")  # fmt: skip
@click.option("--columns", "in_columns", is_flag=True, help="With --review: the diff side by side, in a wide terminal.")  # fmt: skip
@json_option
@click.pass_obj
def show(
    context: Context,
    task_id: str,
    as_evidence: bool,
    as_receipt: bool,
    in_columns: bool,
    as_json: bool,
) -> None:
    """Show a task with its attempts, checks and findings.

    With --review, show all that a decision about its work needs, in this order: what was asked, the
    acceptance criteria and what shows each, the checks and findings, the diff with the riskiest
    files first, what the agent said last, and the cost.

    With --receipt, print what the gate ran on its tree and what came out. `allstop verify` checks
    that again, also on another machine.
    """
    if as_receipt:
        _print_receipt(context, task_id)
        return
    if as_evidence:
        _show_evidence(context, task_id, in_columns=in_columns, as_json=as_json)
    else:
        _show_task(context, task_id, as_json=as_json)


def _print_receipt(context: Context, task_id: str) -> None:
    from allstop.app.board.task_receipts import receipt_of_task
    from allstop.gate.receipt import encode

    with context.project() as project:
        found = look(lambda: receipt_of_task(project, task_id))
    echo(encode(found).decode().rstrip())


def _show_task(context: Context, task_id: str, *, as_json: bool) -> None:
    import msgspec

    from allstop.app.board.remedies import workspace_of
    from allstop.core.moves import ChecksDone

    with context.project() as project:
        task = look(lambda: _view(project, task_id))
        workspace = workspace_of(project, task_id)
        gate, work = look(lambda: _work(project, task)) if task.run else (ChecksDone(), [])
    if as_json:
        more = {"verification": gate.error, "findings": gate.findings, "notes": gate.notes}
        where = {"workspace": None if workspace is None else str(workspace)}
        print_json({**msgspec.to_builtins(task), **more, **where})
        return
    echo(_line(task))
    if task.body:
        echo(f"\n{plain(task.body)}\n")
    for name in SHOWN_FIELDS:
        value = getattr(task, name)
        if value:
            words = ", ".join(value) if isinstance(value, tuple) else str(value)
            echo(f"{name.replace('_', ' ') + ':':<12} {plain(words)}")
    _show_attempts(task, workspace)
    for line in work:
        echo(line)


def _show_attempts(task: TaskView, workspace: Path | None) -> None:
    for attempt in task.attempts:
        echo(f"attempt      {_describe_attempt(attempt)}")
    marks = {
        "unverified   no checks are configured": task.unverified,
        f"warning      ⚠ {task.warning}": task.warning,
    }
    for line in filter(marks.get, marks):
        echo(line)
    if workspace is not None:
        kept = "" if task.status in AT_WORK else ", unchanged since"
        echo(f"workspace    {workspace}{kept}")
    if task.hint:
        echo(f"hint         {plain(task.hint)}")


def _show_evidence(context: Context, task_id: str, *, in_columns: bool, as_json: bool) -> None:
    from allstop.app.board.evidence import evidence_of_task

    with context.project() as project:
        found = run(lambda: evidence_of_task(project, task_id))
    if as_json:
        print_json(found)
        return
    from allstop.cli.board.evidence import show_evidence

    show_evidence(found, in_columns=in_columns)


def _describe_attempt(attempt: Attempt) -> str:
    how = attempt.outcome.value if attempt.outcome else "at work"
    tally = attempt.tally
    failed = f", {tally.failed_turns} failed" if tally.failed_turns else ""
    used = token_count(tally.tokens, partial=tally.partial)
    return f"{attempt.run}: {how}, {counted(tally.turns, 'turn')}{failed}, {used}"


async def _work(project: Project, task: TaskView) -> tuple[ChecksDone, list[str]]:
    """The last check results of the latest attempt, and lines about them."""
    from allstop.core.events import MoveEnded
    from allstop.core.ids import RunId
    from allstop.core.moves import ChecksDone, TurnDone
    from allstop.gate.change_findings import describe_finding

    assert task.run is not None
    gate, is_changed = ChecksDone(), False
    for record in await project.journal.read(RunId(task.run)):
        match record.event:
            case MoveEnded(result=ChecksDone() as result):
                gate = result
            case MoveEnded(result=TurnDone(change=change)) if change is not None:
                is_changed = change.files > 0
    lines = [f"check        {_check_line(check)}" for check in gate.results]
    lines += [
        f"finding      {one_line(describe_finding(finding), 300)}" for finding in gate.findings
    ]
    lines += [f"note         {one_line(note, 300)}" for note in gate.notes]
    lines += [f"changes      allstop diff {task.id}"] if is_changed or task.merged else []
    return gate, [*lines, f"see          allstop log {task.run}"]


def _check_line(check: CheckResult) -> str:
    from allstop.board.gate_summary import describe_failure

    if check.passed:
        return f"✓ {check.name}"
    return f"{'✗' if check.required else '⚠'} {describe_failure(check)}"


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@click.option("--title", help="The new title.")
@task_options
@json_option
@click.pass_obj
def edit(context: Context, /, task_id: str, as_json: bool, **given: Any) -> None:
    """Change a task. An empty value, such as `--needs ""`, removes all of that kind."""
    from allstop.app.board import commands as board
    from allstop.core.commands import EditTask
    from allstop.core.errors import AllstopError
    from allstop.core.tasks import Changes

    values = {name: value for name, value in given.items() if value not in (None, ())}
    for name in ("needs", "tags", "may_change", "labels"):
        if name in values:
            values[name] = tuple(each for each in values[name] if each)
    if not values:
        raise AllstopError(
            "the command changes nothing",
            "name what to change, for example --title; see `allstop edit --help`",
            code="no_change_named",
        )
    with context.project() as project:
        _check_agent(project, given["agent"])
        command = EditTask(task=task_id, changes=Changes(**values))
        run(lambda: board.send_commands(project, lambda state: [command]))
        shown = look(lambda: _view(project, task_id))
    if as_json:
        print_json(shown)
    else:
        echo(_line(shown))


@click.command()
@click.argument("task_id", metavar="ID", type=TASK)
@click.pass_obj
def rm(context: Context, task_id: str) -> None:
    """Cancel a task; its record and its work are kept."""
    from allstop.app.board import commands as board
    from allstop.core.commands import RemoveTask

    with context.project() as project:
        run(lambda: board.send_commands(project, lambda state: [RemoveTask(task=task_id)]))
        waiting = look(lambda: board.tasks_waiting_for(project, task_id))
    echo(f"{task_id} is cancelled.")
    print_waiting_tasks(task_id, waiting)


def print_waiting_tasks(task_id: str, waiting: Sequence[str]) -> None:
    """Say which tasks can't start because this one was cancelled."""
    if waiting:
        echo(
            f"{', '.join(waiting[:5])}{' and others' if waiting[5:] else ''} can't start without it:"
            f" `allstop edit {waiting[0]} --needs …`, or `allstop retry {task_id}`."
        )


@click.command("next")
@click.option("--explain", is_flag=True, help="Show how each score is calculated.")
@click.option("--most", type=click.IntRange(min=1), default=10, show_default=True, help="With --explain: how many tasks to show.")  # fmt: skip
@json_option
@click.pass_obj
def next_(context: Context, explain: bool, most: int, as_json: bool) -> None:
    """Show which task would start next, and why."""
    from allstop.app.board.overview import choices

    with context.project() as project:
        found = look(lambda: choices(project, most if explain or as_json else 1))
    if as_json:
        print_json({"next": found})
        return
    if not found:
        echo("No task is ready.")
    for choice in found:
        score = choice.score
        place = _why_first(choice)
        title = fitting(choice.task.title, 70, 15 + len(place))
        echo(f"{choice.task.id:<8} {score.total:>4}  {title}{place}")
        if explain:
            echo(f"{'':<15}{_explain_score(choice)}")


def _why_first(choice: Any) -> str:
    """Why a task comes before others with higher scores."""
    if choice.task.assigned:
        return "  assigned or sent back: before pins and scores"
    return "  pinned: before all scores" if choice.pinned else ""


def _explain_score(choice: Any) -> str:
    score = choice.score
    parts = {
        "tasks that need it": score.unblocks,
        "critical": score.critical,
        "quick-win": score.quick_win,
        "operation nearly done": score.nearly_done,
        "retries": score.retries,
    }
    named = [f"{value:+} {name}" for name, value in parts.items() if value]
    priority = f"priority {choice.task.priority}, then age" if choice.task.priority else "then age"
    return f"{' '.join(named) or '0'}; {priority}"
