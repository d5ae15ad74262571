"""The commands `import` and `export`: tasks from and for other programs."""

import sys
from pathlib import Path

import click

from allstop.cli.output import Context, echo, json_option, look, print_json, run
from allstop.core.text import counted, one_line

SHOWN = 20
"""So many imported tasks are listed: enough to see whether the file was understood."""


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))  # fmt: skip
@click.option("--format", "format_", help="The format of the file; by default it is recognised.")
@json_option
@click.pass_obj
def import_(context: Context, file: Path, format_: str | None, as_json: bool) -> None:
    """Add the tasks of a file. Importing it again adds only new tasks.

    \b
    Examples:
      allstop import TODO.md
      gh issue list --json number,title,body | allstop import -
    """
    from allstop.adapters.exchange import read_tasks
    from allstop.adapters.exchange.error_location import with_location
    from allstop.app.board import commands
    from allstop.core.errors import AllstopError

    with context.project() as project:
        source = _piped() if str(file) == "-" else file
        found = read_tasks(source, format_)
        try:
            done = run(lambda: commands.import_tasks(project, found))
        except AllstopError as refused:
            raise with_location(source, found, refused) from refused
    if as_json:
        print_json({"added": [task.id for task in done.added], "known": done.known})
        return
    for task in done.added[:SHOWN]:
        within = f"  (in: {one_line(task.operation, 60)})" if task.operation else ""
        over = "  (already done)" if task.done else ""
        echo(f"{task.id}  {one_line(task.title, 200)}{within}{over}")
    if len(done.added) > SHOWN:
        echo(f"… and {len(done.added) - SHOWN} more")
    known = f"; {done.known} already on the board" if done.known else ""
    echo(f"{counted(len(done.added), 'task')} added{known}.")


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
@click.option("--format", "format_", default="json", show_default=True, help="json, markdown or csv.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead of standard output.")  # fmt: skip
@click.pass_obj
def export(context: Context, format_: str, output: Path | None) -> None:
    """Print all tasks as JSON, Markdown or CSV.

    \b
    Examples:
      allstop export --format csv --output tasks.csv
    """
    from allstop.adapters.exchange import write_tasks
    from allstop.app.board import commands

    with context.project() as project:
        tasks = look(lambda: commands.read(project)).state.board.tasks()
    text = write_tasks(tasks, format_)
    if output is None:
        echo(text, nl=not text.endswith("\n"))
    else:
        output.write_text(text, encoding="utf-8")
        echo(f"{counted(len(tasks), 'task')} written to {output}")
