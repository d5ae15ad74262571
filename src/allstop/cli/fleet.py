"""The command `fleet`: several machines that work on one board."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, json_option, print_json, run
from allstop.cli.times import duration
from allstop.core.text import counted
from allstop.views.machines import MachineProcess, ProcessState, Work

if TYPE_CHECKING:
    from allstop.app.machines import Machine

MARKS = {
    ProcessState.ONLINE: ("●", "green"),
    ProcessState.DRAINING: ("↓", "yellow"),
    ProcessState.LOST: ("✗", "red"),
}

ROLE = re.compile(r"[a-z][a-z0-9_-]{0,40}")


@click.group()
def fleet() -> None:
    """Set up and watch machines that share one board.

    \b
    Examples:
      allstop fleet init --print-sql
      allstop fleet init
      allstop fleet status
    """


@fleet.command()
@json_option
@click.pass_obj
def status(context: Context, as_json: bool) -> None:
    """Show the machines: their slots, what runs where, and their last sign of life."""
    from allstop.app.live_runs import LiveRuns
    from allstop.app.machines import machines, waiting_runs

    async def found() -> tuple[list[Machine], list[Work]]:
        live_runs = LiveRuns(project)
        await live_runs.begin()
        return await machines(project, live_runs), await waiting_runs(project, live_runs)

    with context.project() as project:
        known, waiting = run(found)
        now = project.clock.now()
    if as_json:
        print_json({"machines": known, "waiting": waiting})
        return
    for machine in known:
        for process in machine.processes:
            _show_process(machine.name, process, now)
    if not any(machine.processes for machine in known):
        echo("No process works on the board.")
    for work in waiting:
        since = duration((now - work.since).total_seconds())
        echo(f"◌ {work.label:<8} {work.title}  {work.doing} · {since}", fg="yellow")


def _show_process(host: str, process: MachineProcess, now: datetime) -> None:
    name = f"{process.name} on {host}" if process.name not in ("", host) else host
    facts = [process.role or process.command, process.version, *process.labels]
    if process.slots:
        facts.append(f"{len(process.work)} of {counted(process.slots, 'slot')}")
    if process.load.cpu is not None:
        facts.append(f"CPU {process.load.cpu:.0%}")
    if process.heard_s is not None:
        facts.append(f"heard {duration(process.heard_s)} ago")
    mark, colour = MARKS[process.state]
    state = process.state.value
    if process.drained_by and process.state is ProcessState.DRAINING:
        state += f" (by {process.drained_by})"
    echo(f"{mark} {name}  {state}", fg=colour)
    echo("  " + " · ".join(fact for fact in facts if fact))
    for work in process.work:
        since = duration((now - work.since).total_seconds())
        where = "; starts elsewhere soon" if process.state is ProcessState.LOST else ""
        echo(f"    {work.label:<8} {work.title}  {work.doing} · {since}{where}")


@fleet.command()
@click.option(
    "--print-sql", is_flag=True, help="Print the SQL that makes the roles; change nothing."
)
@click.option(
    "--prefix",
    default="allstop",
    show_default=True,
    help="How the names of the roles begin, if several fleets share a server.",
)
@json_option
@click.pass_obj
def init(context: Context, print_sql: bool, prefix: str, as_json: bool) -> None:
    """Make or upgrade the tables in the database of the settings.

    With --print-sql, print the SQL that makes three roles: one that owns the tables, one for workers
    and control rooms, and one that only reads. A superuser of the database runs it.

    \b
    Examples:
      allstop fleet init --print-sql | psql -h db.example.com billing
      allstop fleet init
    """
    if not ROLE.fullmatch(prefix):
        raise click.BadParameter("use small letters, digits, - and _", param_hint="--prefix")
    if print_sql:
        from allstop.adapters.journals.postgres_rights import roles_sql

        echo(roles_sql(prefix), nl=False)
        return
    from allstop.app.fleet.tables import init as init_tables

    with context.project() as project:
        tables = init_tables(project)
    if as_json:
        print_json(tables._asdict())
        return
    echo(f"✓ {tables.address}")
    echo(f"  The tables have version {tables.version}.")
