"""Tasks of other programs and for them: import, export."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from allstop.cli.output import Context, json_option, look, print_json, run
from allstop.core.text import counted, one_line

SHOWN = 20
"""Of the tasks that a file brings: enough to see how it was understood."""


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))  # fmt: skip
@click.option("--format", "format_", help="Else it is recognised by its content.")
@json_option
@click.pass_obj
def import_(context: Context, file: Path, format_: str | None, as_json: bool) -> None:
    """Put the tasks of a file on the board; - is what is piped in. Importing it again adds only
    what is new.
    """
    from allstop.adapters.exchange import read_tasks
    from allstop.adapters.exchange.error_location import with_location
    from allstop.app.board import commands
    from allstop.core.errors import AllstopError

    with context.project() as project:
        source = _piped() if str(file) == "-" else file
        found = read_tasks(source, format_)
        try:
            done = run(lambda: commands.bring_in(project, found))
        except AllstopError as refused:
            raise with_location(source, found, refused) from refused
    if as_json:
        print_json({"added": [task.id for task in done.added], "known": done.known})
        return
    for task in done.added[:SHOWN]:
        within = f"  (in: {one_line(task.operation, 60)})" if task.operation else ""
        over = "  (done before)" if task.done else ""
        click.echo(f"{task.id}  {one_line(task.title, 200)}{within}{over}")
    if len(done.added) > SHOWN:
        click.echo(f"… and {len(done.added) - SHOWN} more")
    known = f"; {done.known} there already" if done.known else ""
    click.echo(f"{counted(len(done.added), 'task')} added{known}.")


def _piped() -> bytes:
    from allstop.adapters.exchange.file_contents import LARGEST_MB
    from allstop.core.errors import AllstopError

    if sys.stdin.isatty():
        raise AllstopError(
            "`allstop import -` reads standard input, and that is this terminal",
            "pipe the tasks in, for example: gh issue list --json … | allstop import -",
            code="nothing_piped",
        )
    return sys.stdin.buffer.read(LARGEST_MB * 1_000_000 + 1)


@click.command()
@click.option("--format", "format_", default="json", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A file; else standard output.")  # fmt: skip
@click.pass_obj
def export(context: Context, format_: str, output: Path | None) -> None:
    """All tasks as text: json, markdown or csv."""
    from allstop.adapters.exchange import write_tasks
    from allstop.app.board import commands

    with context.project() as project:
        tasks = look(lambda: commands.read(project)).state.board.tasks()
    text = write_tasks(tasks, format_)
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        output.write_text(text, encoding="utf-8")
        click.echo(f"{counted(len(tasks), 'task')} written to {output}")
