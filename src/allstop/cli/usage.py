"""What all runs have used, today and before, and giving them more."""

from __future__ import annotations

import click

from allstop.cli.numbers import A_DAYS_MINUTES, DOLLARS
from allstop.cli.output import Context, json_option, print_json, run
from allstop.cli.times import since as since_
from allstop.core.errors import AllstopError
from allstop.views.usage import By


@click.command()
@click.option("--turns", type=click.IntRange(min=1), help="Most turns, for the rest of the day.")
@click.option("--tokens", type=click.IntRange(min=1), help="Most tokens, for the rest of the day.")
@click.option("--cost", "cost_usd", type=DOLLARS, metavar="USD", help="Most money, for the rest of the day.")  # fmt: skip
@click.option("--minutes", type=A_DAYS_MINUTES, help="Most minutes since the day's first turn.")  # fmt: skip
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
    """Show what all runs have used today; with a limit, allow them that much until midnight.

    What waits because the day's budget is used up goes on at once.
    """
    from allstop.app.runs.day import More, allow_more, day_lines
    from allstop.app.runs.day import today as used_today

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
        click.echo(line)


@click.command()
@click.option("--by", type=click.Choice([by.value for by in By]), default="agent", show_default=True, help="What turns are put together by.")  # fmt: skip
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="So long ago (7d, 12h), or a date.")  # fmt: skip
@click.option("--agent", default="", metavar="NAME", help="Only turns of this agent.")
@json_option
@click.pass_obj
def usage(context: Context, by: str, since: str, agent: str, as_json: bool) -> None:
    """Show how many turns, tokens and how much money went into what.

    A task counts with all its attempts. What a failed turn used counts, too; as in budgets, it
    counts as no turn. `allstop log RUN` has every one.
    """
    from allstop.app.usage import usage_lines, used_since

    with context.project() as project:
        begins_at = since_(project.clock.now(), since)
        found = run(lambda: used_since(project, begins_at, By(by), agent))
    if as_json:
        print_json(found)
    elif not found.lines:
        click.echo("No turn has been taken since then.")
    else:
        for line in usage_lines(found):
            click.echo(line)
