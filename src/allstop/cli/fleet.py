"""The command `fleet`: several machines that work on one board."""

from __future__ import annotations

import re

import click

from allstop.cli.output import Context, echo, json_option, print_json

ROLE = re.compile(r"[a-z][a-z0-9_-]{0,40}")


@click.group()
def fleet() -> None:
    """Set up and watch machines that share one board.

    \b
    Examples:
      allstop fleet init --print-sql
      allstop fleet init
    """


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
