"""The command `store`: checks the journal's store, and copies it to another one."""

from __future__ import annotations

import click

from allstop.cli.output import Context, echo, json_option, print_json, run
from allstop.core.text import counted


@click.group()
def store() -> None:
    """Check the journal's store, or copy it to another one.

    \b
    Examples:
      allstop store check
      allstop store copy
    """


@store.command()
@json_option
@click.pass_obj
def check(context: Context, as_json: bool) -> None:
    """Read every event of the store and replay every run."""
    from allstop.app.store_copy import check as check_store

    with context.project() as project:
        found = run(lambda: check_store(project))
    if as_json:
        print_json(found._asdict())
        return
    echo(f"✓ {found.address}")
    echo(
        f"  {counted(found.events, 'event')} of {counted(found.runs, 'run')}, {found.open_runs} open"
    )
    echo(f"  {counted(found.holders, 'run')} claimed by a process")


@store.command()
@click.option("--back", is_flag=True, help="From the database to the file in this folder.")
@json_option
@click.pass_obj
def copy(context: Context, back: bool, as_json: bool) -> None:
    """Copy the journal from .allstop/ to the database of the settings.

    The database's address comes from ALLSTOP_STORE_URL or from [store] url in your own settings.
    The copy is compared and replayed. An interrupted copy continues where it was.

    \b
    Examples:
      allstop store copy
      allstop store copy --back
    """
    from allstop.app.store_copy import copy as copy_store

    with context.project() as project:
        copied = run(lambda: copy_store(project, to_sqlite=back))
    if as_json:
        print_json(copied._asdict())
        return
    echo(
        f"✓ {counted(copied.events, 'event')} of {counted(copied.runs, 'run')} copied and verified."
    )
    if back:
        echo("Without [store] url and ALLSTOP_STORE_URL, allstop uses the file in .allstop/ again.")
