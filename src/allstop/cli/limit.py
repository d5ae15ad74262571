"""Other limits: of a run, which goes on; of a task, from its next attempt on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.cli.numbers import DOLLARS, MINUTES, TIMES
from allstop.cli.output import Context, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.raise_limits import Raised
    from allstop.core.commands import EditTask


class Asked(NamedTuple):
    iterations: int | None
    minutes: float | None
    times: float | None
    turns: int | None
    tokens: int | None
    cost_usd: float | None


@click.command()
@click.argument("name", metavar="ID")
@click.option("--iterations", type=click.IntRange(min=1), help="Of a task: most iterations of one attempt.")  # fmt: skip
@click.option("--minutes", type=MINUTES, help="Most time: for one attempt at a task, or since a run began.")  # fmt: skip
@click.option("--times", type=TIMES, help="All of them, so many times what it had.")  # fmt: skip
@click.option("--turns", type=click.IntRange(min=1), help="Of a run: most turns.")
@click.option("--tokens", type=click.IntRange(min=1), help="Of a run: most tokens.")
@click.option("--cost", "cost_usd", type=DOLLARS, metavar="USD", help="Of a run: most money.")  # fmt: skip
@json_option
@click.pass_obj
def limit(context: Context, /, name: str, as_json: bool, **given: float | None) -> None:
    """Give a run or a task other limits.

    A run that waits at its limit goes on with more: at once where a process drives it, else with
    `allstop resume`. Those of a task hold from its next attempt on.
    """
    from allstop.cli.board.review import say_of_task
    from allstop.core.commands import EditTask

    asked = Asked(**given)  # type: ignore[arg-type]  # click gives what the options say
    with context.project() as project:
        answer = run(lambda: _limit(project, name, asked))
    if isinstance(answer, EditTask):
        say_of_task(context, name, answer, "has its own limits", as_json=as_json)
    elif as_json:
        is_task = isinstance(answer, str)
        print_json({"task": name, "times": asked.times, "note": answer} if is_task else answer)
    elif isinstance(answer, str):
        click.echo(f"{name}: {answer}.")
    else:
        click.echo(f"{name}: {answer.note}.")
        if answer.held or not answer.driven:
            click.echo(f"Go on: allstop resume {name}")


async def _limit(project: Project, name: str, asked: Asked) -> Raised | EditTask | str:
    """Of a run; of a task what is to be said of it or, in words, what it has now."""
    from allstop.app.raise_limits import Allowance, is_run, raise_run

    if asked.iterations is None and await is_run(project, name):
        more = Allowance(
            times=asked.times,
            turns=asked.turns,
            tokens=asked.tokens,
            cost_usd=asked.cost_usd,
            minutes=asked.minutes,
        )
        return await raise_run(project, name, more, "allstop limit")
    return await _limit_task(project, name, asked)


async def _limit_task(project: Project, task: str, asked: Asked) -> EditTask | str:
    from msgspec import UNSET

    from allstop.app.board.remedies import raise_limits
    from allstop.core.commands import EditTask
    from allstop.core.errors import AllstopError
    from allstop.core.tasks import Changes

    if (asked.turns, asked.tokens, asked.cost_usd) != (None, None, None):
        raise AllstopError(
            f"{task} is a task, and --turns, --tokens and --cost are limits of runs",
            "use --iterations, --minutes or --times, or the settings of [budget]",
            code="limit_not_for_tasks",
        )
    own = (asked.iterations, asked.minutes) != (None, None)
    if asked.times is not None and own:
        raise AllstopError(
            "--times can't be combined with other limits",
            "leave out --iterations and --minutes",
            code="limits_conflict",
        )
    if asked.times is not None:
        return await raise_limits(project, task, asked.times)
    if not own:
        raise AllstopError(
            "no limit is given", "use --times, --iterations or --minutes", code="limit_not_named"
        )
    changes = Changes(
        iterations=UNSET if asked.iterations is None else asked.iterations,
        minutes=UNSET if asked.minutes is None else asked.minutes,
    )
    return EditTask(task=task, changes=changes)
