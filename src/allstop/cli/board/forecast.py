"""The command `forecast`: when the board's tasks end and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from allstop.cli.output import WAITS, Context, echo, json_option, print_json, run
from allstop.cli.times import duration, until
from allstop.core.text import counted, money

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.board.forecast import Forecast, NoForecast
    from allstop.board.state import BoardState
    from allstop.core.board_specs import SprintSpec
    from allstop.core.commands import Range


@click.command()
@click.argument("tasks", nargs=-1, metavar="[TASK]...")
@click.option("--operation", default="", metavar="NAME", help="Only tasks of this operation.")
@click.option("--tag", default="", metavar="TAG", help="Only tasks with this tag.")
@click.option("--slots", type=click.IntRange(min=1), help="With this many slots instead of the board's.")  # fmt: skip
@click.option("--count", type=click.IntRange(min=1), help="No task starts after this many have finished.")  # fmt: skip
@click.option("--for", "for_", metavar="TIME", help="No task starts after this time (2h, 90m).")
@click.option("--until", "until_", metavar="HH:MM", help="No task starts after this time of day.")
@json_option
@click.pass_obj
def forecast(
    context: Context,
    tasks: tuple[str, ...],
    operation: str,
    tag: str,
    slots: int | None,
    count: int | None,
    for_: str | None,
    until_: str | None,
    as_json: bool,
) -> int:
    """Forecast when tasks end and what they cost.

    It is computed from this board's history. Without tasks and options, it covers the running
    sprint, or all that the board would work on. The range goes from P10 to P90: 8 of 10 results
    lie in it. Waiting for you and for providers' limits is not included. Exits with 3 if there is
    no forecast.

    \b
    Examples:
      allstop forecast
      allstop forecast --tag api --slots 4
      allstop forecast --for 3h
    """
    from allstop.app.board import commands
    from allstop.app.board.forecast import Question, make_forecast
    from allstop.app.runs.status import runs_below
    from allstop.board.forecast import Forecast
    from allstop.core.board_specs import Filters

    async def ask() -> Forecast | NoForecast:
        state = (await commands.read(project)).state
        children = await runs_below(project, state)
        under_way = {name: child.tally for name, child in children.items()}
        question = Question(
            tasks=tasks,
            filters=Filters(
                include_operations=(operation,) if operation else (),
                include_tags=(tag,) if tag else (),
            ),
            slots=slots,
            count=count,
            until=until(now, for_, until_),
        )
        return await make_forecast(state, under_way, question, now)

    with context.project() as project:
        now = project.clock.now()
        found = run(ask)
    if as_json:
        print_json(found)
    else:
        for line in lines(found, now):
            echo(line)
    return 0 if isinstance(found, Forecast) else WAITS


async def sprint_lines(
    project: Project, state: BoardState, sprint: SprintSpec | None = None
) -> list[str]:
    """The forecast of a sprint before it starts, or of the one that runs."""
    from allstop.app.board.forecast import Question, make_forecast, sprint_question
    from allstop.app.runs.status import runs_below

    now = project.clock.now()
    question = Question() if sprint is None else sprint_question(state, sprint, now)
    children = await runs_below(project, state)
    under_way = {name: child.tally for name, child in children.items()}
    first, *more = lines(await make_forecast(state, under_way, question, now), now)
    return [f"  forecast    {first}", *(f"              {line}" for line in more)]


def lines(found: Forecast | NoForecast, now: datetime) -> Iterator[str]:
    from allstop.board.forecast import NoForecast

    if isinstance(found, NoForecast):
        yield f"No forecast: {found.reason}"
        return
    ends = _times(found.seconds, now)
    yield f"ends     {ends}, likely in {duration(found.seconds.p50)}"
    yield f"cost     {_costs(found)}"
    yield f"tasks    {_counts(found.finished)} of {found.tasks} finish, {_counts(found.completed)} of them verified"  # fmt: skip
    if found.left_out:
        yield f"         {found.left_out} more can't run without you: they need a failed task, a review, or are held"  # fmt: skip
    yield (
        f"8 of 10 results lie in these ranges. From {counted(found.attempts, 'attempt')},"
        f" with {counted(found.slots, 'slot')}."
    )


def _times(seconds: Range, now: datetime) -> str:
    first, last = (
        (now + timedelta(seconds=each)).astimezone() for each in (seconds.p10, seconds.p90)
    )
    today = now.astimezone().date()
    return f"{_clock(first, today == first.date())} to {_clock(last, today == last.date())}"


def _clock(at: datetime, is_today: bool) -> str:
    return f"{at:%H:%M}" if is_today else f"{at:%d %b %H:%M}"


def _costs(found: Forecast) -> str:
    cost = found.cost_usd
    if cost is None:
        return "unknown: no agent reports its cost"
    more = "; some agents don't report their cost, so it is more" if found.cost_partial else ""
    return f"{money(cost.p10)} to {money(cost.p90)}, likely {money(cost.p50)}{more}"


def _counts(values: Range) -> str:
    low, high = round(values.p10), round(values.p90)
    return f"{low}" if low == high else f"{low} to {high}"
