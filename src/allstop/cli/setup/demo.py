"""The command `demo`: a board, a room and a plan with scripted agents in a sample repository."""

import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import click

from allstop.cli.output import WAITS, Context, echo, run


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder of the sample repository; by default a temporary one.",
)
@click.option("--serve", "serves", is_flag=True, help="Open the control room for it afterwards.")
@click.pass_obj
def demo(context: Context, folder: Path | None, serves: bool) -> int:
    """See it work in a sample repository, without keys.

    Scripted agents work through a board, talk in a short room, and write and do a plan, without a
    network. The demo ends by itself; with --serve, at Ctrl-C.
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
    from allstop.cli.board.run_board import run_board
    from allstop.cli.rooms.room import RoomOptions, run_room
    from allstop.core.commands import AddTasks

    folder = context.folder
    make_sample(folder)
    echo(f"A sample repository: {folder}")
    echo("Six tasks, three at once; two of them need others first:")
    echo("$ allstop run")
    with context.project() as project:
        accept_file(project)
        spec = board_spec(project)
        code = run(lambda: run_board(project, spec, lambda state: [AddTasks(tasks=TASKS)]))
    echo("\nThe branch main:")
    echo(git_output(folder, "log", "--oneline", "--graph", "--first-parent", "-n", "8"))
    echo(f"\n$ sh run-tests.sh\n{_tests(folder)}")
    echo(f'\nThen two agents talk:\n$ allstop room "{GOAL}" --agents writer,editor')
    with context.project() as project:
        options = RoomOptions(goal=GOAL, agents=("writer", "editor"))
        code = run(lambda: run_room(project, options)) or code
    code = _plan(context) or code
    echo(
        "\nIn T2 a check failed and the agent fixed it. In T5 the agent said COMPLETE too early, and\n"
        "the checks found it. In T3 or T4 an agent resolved a merge conflict. In the plan, step 1.1\n"
        "was tried again, another agent did 1.2, and a person skipped 2.1. Look around:"
    )
    if shutil.which("allstop") is None:
        echo(f"  . {shlex.quote(f'{sys.prefix}/bin/activate')}")
    echo(f"  cd {folder}")
    echo("  allstop list              the board")
    echo("  allstop diff T5           its changes")
    echo("  allstop log T2            its events")
    echo("  allstop receipts T5       every decision with its reasons")
    echo("  allstop replay board      every decision repeated from the journal")
    echo("  allstop log room:default  the messages of the room")
    echo("  allstop plan show plan1   the plan and its steps")
    echo("Next, in your own repository: allstop init")
    return code


def _plan(context: Context) -> int:
    """Let an agent write a plan, do it, and skip the step that no agent can do."""
    from allstop.app.setup.demo_plan import PLAN_GOAL
    from allstop.cli.plans.new import export_plan, write_plan
    from allstop.cli.plans.plan import run_plan, send_to_plan
    from allstop.cli.run import resume_run
    from allstop.core.commands import Skip

    file = context.folder / "PLAN.md"
    shown = Path(file.name)
    echo(f'\nThen an agent writes a plan:\n$ allstop plan new "{PLAN_GOAL}" --agent planner')
    with context.project() as project:
        code = run(lambda: write_plan(project, PLAN_GOAL, file, "planner", shown=shown))
    if code:
        return code
    echo(f"\n$ cat {shown}\n{file.read_text(encoding='utf-8')}")
    echo(f"Its steps are done in order, in one clone:\n$ allstop plan run {shown}")
    with context.project(_without_sandbox(context)) as project:
        code = run(lambda: run_plan(project, shown, file.read_bytes(), attended=False))
        if code != WAITS:
            return code
        echo("\nNo agent can do step 2.1, so a person skips it:\n$ allstop plan skip plan1")
        run(lambda: send_to_plan(project, "plan1", Skip()))
        echo("plan1: its step is skipped.\n$ allstop plan resume plan1")
        code = run(lambda: resume_run(project, context.run_kinds, "plan1", as_json=False))
        echo(f"\n$ allstop plan export plan1 {shown}")
        run(lambda: export_plan(project, "plan1", file, shown=shown))
    return code


def _without_sandbox(context: Context) -> dict[str, object]:
    """Where no sandbox works, the checks of this plan may run without one: the demo wrote them."""
    from allstop.adapters.processes.sandbox_probe import make_launcher

    with context.project() as project:
        launcher = run(lambda: make_launcher("auto", project.live))
    return {} if launcher.isolation.boxed else {"sandbox.mode": "off"}


def _tests(folder: Path) -> str:
    """Run the merged test script outside the sandbox: the demo itself wrote it."""
    import subprocess

    done = subprocess.run(
        ["sh", "run-tests.sh"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
