"""Doing work in this terminal: run, resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, json_option, print_json
from allstop.cli.output import run as run_async

if TYPE_CHECKING:
    from allstop.app.house import House


@click.command()
@click.argument("prompt")
@click.option("--agent", help="Which configured agent works; else the first choice of [loop].")
@click.option("--budget", type=float, metavar="USD", help="Most money for this run.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON, one a line.")
@click.pass_obj
def run(
    context: Context, prompt: str, agent: str | None, budget: float | None, as_json: bool
) -> int:
    """Run an agent on PROMPT in a workspace of its own.

    The work is checked by the commands of [verification] and comes home as a branch allstop/RUN.
    Ctrl-C pauses after the current turn; Ctrl-C again is Allstop.
    """
    flags = {} if budget is None else {"budget.cost_usd": budget}
    with context.house(flags) as house:
        return run_async(lambda: _run(house, prompt, agent, as_json=as_json))


async def _run(house: House, prompt: str, agent: str | None, *, as_json: bool) -> int:
    from allstop.app.crew import chosen
    from allstop.cli.foreground import begin

    return await begin(house, prompt, chosen(house, agent), as_json=as_json)


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@json_option
@click.pass_obj
def resume(context: Context, run_id: str | None, as_json: bool) -> int:
    """Lift an Allstop or a pause; with RUN, go on with it in this terminal."""
    with context.house() as house:
        if run_id is None:
            return run_async(lambda: _lift(house, as_json=as_json))
        return run_async(lambda: _resume(house, run_id, as_json=as_json))


async def _lift(house: House, *, as_json: bool) -> int:
    from allstop.app.looking import status
    from allstop.app.stopping import lift

    lifted = await lift(house, "user") if house.has_store else False
    open_runs = [view for view in (await status(house)).runs if view.outcome is None]
    if as_json:
        print_json({"lifted": lifted, "runs": open_runs})
        return 0
    click.echo("The stop is lifted." if lifted else "Nothing was held.")
    for view in open_runs:
        if not view.driven:
            click.echo(f"  {view.id}: {view.title[:60]}   → allstop resume {view.id}")
    return 0


async def _resume(house: House, run_id: str, *, as_json: bool) -> int:
    from allstop.app.looking import helm_of, record_of
    from allstop.app.speaking import speak
    from allstop.cli.foreground import go_on
    from allstop.core.commands import Resume
    from allstop.core.errors import AllstopError
    from allstop.core.helm import Hold
    from allstop.core.ids import root_of

    recorded = await record_of(house, run_id)
    if (await helm_of(house)).hold is Hold.STOPPED:
        raise AllstopError("Allstop is in force", "`allstop resume` without a name lifts it")
    driven = root_of(recorded.run) in house.journal.holders()
    await speak(house, run_id, Resume())
    if driven:
        click.echo(f"{run_id}: goes on in the process that drives it.")
        return 0
    return await go_on(house, recorded, as_json=as_json)
