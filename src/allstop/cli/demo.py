"""The demo: a sample repository, a scripted agent, a check that says no before it says yes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from allstop.cli.output import Context, run


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="Where to make the sample repository; a new temporary folder if not given.",
)
@click.pass_obj
def demo(context: Context, folder: Path | None) -> int:
    """Make a sample repository and run a scripted agent on it, end to end.

    It needs no keys and no network, and ends by itself.
    """
    from allstop.core.errors import AllstopError

    folder = (folder or Path(tempfile.mkdtemp(prefix="allstop-demo-"))).resolve()
    if folder.exists() and any(folder.iterdir()):
        raise AllstopError(f"{folder} is not empty", "name a new folder with --dir")
    return _demo(Context(folder, ()))


def _demo(context: Context) -> int:
    from allstop.app.crew import chosen
    from allstop.app.sample import GOAL, git_output, make_sample
    from allstop.cli.foreground import begin
    from allstop.cli.setup import accept

    folder = context.folder
    make_sample(folder)
    click.echo(f"A sample repository: {folder}")
    click.echo(f'$ allstop run "{GOAL}"')
    with context.house() as house:
        accept(house)
        code = run(lambda: begin(house, GOAL, chosen(house), as_json=False))
    click.echo("\nWhat came home, on a branch of its own; main is untouched:")
    click.echo(git_output(folder, "log", "--oneline", "--stat", "main..allstop/r1"))
    click.echo("\nThe agent said it was done twice. The check said no, then yes. Look around:")
    click.echo(f"  cd {folder}")
    click.echo("  allstop log r1          what happened, line by line")
    click.echo("  allstop receipts r1     why: every decision and what was known")
    click.echo("  allstop replay r1       every decision made again from the record")
    click.echo("  git diff main allstop/r1")
    click.echo("Then, in a repository of yours: allstop init")
    return code
