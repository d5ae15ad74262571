"""The demo: a sample repository, six tasks, a scripted agent that makes mistakes, and a talk."""

from __future__ import annotations

import shlex
import shutil
import sys
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
@click.option("--serve", "serves", is_flag=True, help="Leave the control room open on it.")
@click.pass_obj
def demo(context: Context, folder: Path | None, serves: bool) -> int:
    """Make a sample repository; run a whole board and a short room on it with scripted agents.

    It needs no keys and no network, and ends by itself; with --serve, at Ctrl-C.
    """
    from allstop.core.errors import AllstopError

    folder = (folder or Path(tempfile.mkdtemp(prefix="allstop-demo-"))).resolve()
    if folder.exists() and any(folder.iterdir()):
        raise AllstopError(
            f"{folder} is not empty", "name a new folder with --dir", code="folder_not_empty"
        )
    context = Context(folder, ())
    code = _demo(context)
    if serves:
        from allstop.cli.up import serve_here

        with context.project({"server.port": 0}) as project:
            run(lambda: serve_here(project, context.run_kinds, opens=False))
    return code


def _demo(context: Context) -> int:
    from allstop.app.board.board_spec import board_spec
    from allstop.app.setup.demo import GOAL, TASKS, git_output, make_sample
    from allstop.app.setup.init import accept_file
    from allstop.cli.board.run_board import work
    from allstop.cli.rooms.room import Asked, talk
    from allstop.core.commands import AddTasks

    folder = context.folder
    make_sample(folder)
    click.echo(f"A sample repository: {folder}")
    click.echo("Six tasks, two of which wait for others, on three slots:")
    click.echo("$ allstop run")
    with context.project() as project:
        accept_file(project)
        spec = board_spec(project)
        code = run(lambda: work(project, spec, lambda state: [AddTasks(tasks=TASKS)]))
    click.echo("\nWhat is on main now:")
    click.echo(git_output(folder, "log", "--oneline", "--graph", "--first-parent", "-n", "8"))
    click.echo(f"\n$ sh run-tests.sh\n{_tests(folder)}")
    click.echo(f'\nThen two agents talk:\n$ allstop room "{GOAL}" --agents writer,editor')
    with context.project() as project:
        asked = Asked(goal=GOAL, agents=("writer", "editor"))
        code = run(lambda: talk(project, asked)) or code
    click.echo(
        "\nOne gate said no and the agent fixed it (T2), one COMPLETE was not true and was caught\n"
        "(T5), one conflict was resolved by the agent and checked again (T3 or T4). Look around:"
    )
    if shutil.which("allstop") is None:
        click.echo(f"  . {shlex.quote(f'{sys.prefix}/bin/activate')}")
    click.echo(f"  cd {folder}")
    click.echo("  allstop list            the board")
    click.echo("  allstop diff T5         what came of it")
    click.echo("  allstop log T2          what happened, line by line")
    click.echo("  allstop receipts T5     why: every decision and what was known")
    click.echo("  allstop replay board    every decision made again from the record")
    click.echo("  allstop log room:default  what was said in the room")
    click.echo("Then, in a repository of yours: allstop init")
    return code


def _tests(folder: Path) -> str:
    """Files that were merged; in a sample, they are the demo's own."""
    import subprocess

    done = subprocess.run(
        ["sh", "run-tests.sh"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
