"""The commands `today` and `usage`: tokens, cost and turns of all runs."""

import click
from click.core import ParameterSource

from allstop.cli.argument_types import A_DAYS_MINUTES, DOLLARS
from allstop.cli.output import Context, echo, in_words, json_option, print_json, run
from allstop.cli.times import since as since_
from allstop.core.errors import AllstopError
from allstop.views.usage import By

COUNTS_COLUMNS = 60  # the width of the table without its names


@click.command()
@click.option("--turns", type=click.IntRange(min=1), help="Turns until midnight.")
@click.option("--tokens", type=click.IntRange(min=1), help="Tokens until midnight.")
@click.option("--cost", "cost_usd", type=DOLLARS, metavar="USD", help="Cost until midnight.")  # fmt: skip
@click.option("--minutes", type=A_DAYS_MINUTES, help="Minutes since the first turn of the day.")  # fmt: skip
@json_option
@click.pass_obj
def today(
    context: Context,
    turns: int | None,
    tokens: int | None,
    cost_usd: float | None,
    minutes: float | None,
    as_json: bool,
) -> None:
    """Show today's usage, or raise today's limits.

    A limit applies to all runs until midnight. Runs that wait for the daily budget continue at
    once.

    \b
    Examples:
      allstop today
      allstop today --cost 20
    """
    from allstop.app.runs.daily_budget import More, allow_more, day_lines
    from allstop.app.runs.daily_budget import today as used_today

    more = More(turns=turns, tokens=tokens, cost_usd=cost_usd, minutes=minutes)
    with context.project() as project:
        if project.root is None and not project.has_store:
            raise AllstopError(
                "nothing has been run in this folder",
                "change to a git repository, or use `allstop -C PATH today`",
                code="nothing_run_here",
            )
        if more == More():
            found = run(lambda: used_today(project))
        else:
            found = run(lambda: allow_more(project, more, "allstop today"))
    if as_json:
        print_json(found)
        return
    for line in day_lines(found):
        echo(line)


@click.command()
@click.option("--by", type=click.Choice([by.value for by in By]), default="agent", show_default=True, help="How to group the turns.")  # fmt: skip
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="A duration (7d, 12h) or a date.")  # fmt: skip
@click.option("--agent", default="", metavar="NAME", help="Only turns of this agent.")
@click.option("--calls", is_flag=True, help="List the latest model calls behind the gateway.")
@json_option
@click.pass_obj
def usage(context: Context, by: str, since: str, agent: str, calls: bool, as_json: bool) -> None:
    """Show tokens and cost by agent, model, task, run, day or sprint.

    A task includes all its attempts. A failed turn adds its tokens and cost, but not a turn, as in
    budgets. `allstop log RUN` shows every turn. `--calls` lists each model call that went through
    the gateway instead, the newest first.

    \b
    Examples:
      allstop usage --by task --since 7d
      allstop usage --calls --since 1h
    """
    if calls:
        source = click.get_current_context().get_parameter_source("by")
        if source is not ParameterSource.DEFAULT:
            raise click.UsageError("--calls lists single calls: leave out --by")
        _print_calls(context, since, agent, as_json=as_json)
        return
    from allstop.app.usage import NAME_CHARS, usage_lines, usage_since
    from allstop.glance import columns

    with context.project() as project:
        begins_at = since_(project.clock.now(), since)
        found = run(lambda: usage_since(project, begins_at, By(by), agent))
    if as_json:
        print_json(found)
    elif not found.lines:
        echo("There was no turn in this time.")
    else:
        for line in usage_lines(found, max(NAME_CHARS, (columns() or 0) - COUNTS_COLUMNS)):
            echo(line)


def _print_calls(context: Context, since: str, agent: str, *, as_json: bool) -> None:
    from allstop.app.call_list import call_lines, calls_since

    with context.project() as project:
        begins_at = since_(project.clock.now(), since)
        found = run(lambda: calls_since(project, begins_at, agent))
        now = project.clock.now()
    if as_json:
        print_json(found)
    elif not found.calls:
        echo("No model call is recorded for this time.")
        echo(
            in_words("Those of models by API and behind the gateway are; see `allstop doctor`.", "")
        )
    else:
        for line in call_lines(found, now):
            echo(line)
