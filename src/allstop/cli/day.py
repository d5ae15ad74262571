"""What all runs have used today, and giving them more."""

from __future__ import annotations

import click

from allstop.cli.output import Context, json_option, print_json, run
from allstop.core.errors import AllstopError


@click.command()
@click.option("--turns", type=click.IntRange(min=1), help="Most turns, for the rest of the day.")
@click.option("--tokens", type=click.IntRange(min=1), help="Most tokens, for the rest of the day.")
@click.option("--cost", "cost_usd", type=click.FloatRange(min=0, min_open=True), metavar="USD", help="Most money, for the rest of the day.")  # fmt: skip
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Most minutes since the day's first turn.")  # fmt: skip
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
    from allstop.app.today import More, allow_more, day_lines
    from allstop.app.today import today as used_today

    more = More(turns=turns, tokens=tokens, cost_usd=cost_usd, minutes=minutes)
    with context.house() as house:
        if house.root is None and not house.has_store:
            raise AllstopError("nothing has been run here yet", "go to a git repository")
        if more == More():
            found = run(lambda: used_today(house))
        else:
            found = run(lambda: allow_more(house, more, "allstop today"))
    if as_json:
        print_json(found)
        return
    for line in day_lines(found):
        click.echo(line)
