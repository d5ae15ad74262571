"""The command `limit`: changes the limits of a run or a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.cli.argument_types import DOLLARS, MINUTES, RUN_OR_TASK, TIMES
from allstop.cli.output import Context, echo, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.raise_limits import RaisedLimits
    from allstop.core.commands import EditTask


class LimitOptions(NamedTuple):
    iterations: int | None
    minutes: float | None
    times: float | None
    turns: int | None
    tokens: int | None
    cost_usd: float | None


@click.command()
@click.argument("name", metavar="ID", type=RUN_OR_TASK)
@click.option("--iterations", type=click.IntRange(min=1), help="Of a task: iterations of one attempt.")  # fmt: skip
@click.option("--minutes", type=MINUTES, help="Time of one attempt at a task, or of a run since its start.")  # fmt: skip
@click.option("--times", type=TIMES, help="Multiply all limits by this number.")  # fmt: skip
@click.option("--turns", type=click.IntRange(min=1), help="Of a run: number of turns.")
@click.option("--tokens", type=click.IntRange(min=1), help="Of a run: number of tokens.")
@click.option("--cost", "cost_usd", type=DOLLARS, metavar="USD", help="Of a run: cost.")  # fmt: skip
@json_option
@click.pass_obj
def limit(context: Context, /, name: str, as_json: bool, **given: float | None) -> None:
    """Change the limits of a run or a task.

    A run that waits at a limit continues: at once if a process drives it, else after `allstop
    resume`. The limits of a task apply from its next attempt; if its attempt waits at a limit,
    they apply to that.

    \b
    Examples:
      allstop limit auto1 --times 2
      allstop limit T3 --minutes 60
    """
    from allstop.cli.board.review import command_task
    from allstop.core.commands import EditTask

    options = LimitOptions(**given)  # type: ignore[arg-type]  # click checks the types
    with context.project() as project:
        answer = run(lambda: _limit(project, name, options))
    if isinstance(answer, EditTask):
        command_task(context, name, answer, "has its own limits", as_json=as_json)
    elif as_json:
        is_task = isinstance(answer, str)
        print_json({"task": name, "times": options.times, "note": answer} if is_task else answer)
    elif isinstance(answer, str):
        echo(f"{name}: {answer}.")
    else:
        echo(f"{name}: {answer.note}.")
        if answer.held or not answer.driven:
            echo(f"Continue: allstop resume {name}")


async def _limit(
    project: Project, name: str, options: LimitOptions
) -> RaisedLimits | EditTask | str:
    """Raise the limits of a run. For a task, return the command for it or a text about it."""
    from allstop.app.raise_limits import Allowance, names_run, raise_run

    if options.iterations is None and await names_run(project, name):
        more = Allowance(
            times=options.times,
            turns=options.turns,
            tokens=options.tokens,
            cost_usd=options.cost_usd,
            minutes=options.minutes,
        )
        return await raise_run(project, name, more, "allstop limit")
    return await _limit_task(project, name, options)


async def _limit_task(project: Project, task: str, options: LimitOptions) -> EditTask | str:
    from msgspec import UNSET

    from allstop.app.board.remedies import raise_limits
    from allstop.core.commands import EditTask
    from allstop.core.errors import AllstopError
    from allstop.core.tasks import Changes

    if (options.turns, options.tokens, options.cost_usd) != (None, None, None):
        raise AllstopError(
            f"{task} is a task, and --turns, --tokens and --cost are limits of runs",
            "use --iterations, --minutes or --times, or the settings of [budget]",
            code="limit_not_for_tasks",
        )
    own = (options.iterations, options.minutes) != (None, None)
    if options.times is not None and own:
        raise AllstopError(
            "--times can't be combined with other limits",
            "leave out --iterations and --minutes",
            code="limits_conflict",
        )
    if options.times is not None:
        return await raise_limits(project, task, options.times)
    if not own:
        raise AllstopError(
            "no limit is given", "use --times, --iterations or --minutes", code="limit_not_named"
        )
    changes = Changes(
        iterations=UNSET if options.iterations is None else options.iterations,
        minutes=UNSET if options.minutes is None else options.minutes,
    )
    return EditTask(task=task, changes=changes)
