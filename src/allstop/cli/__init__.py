"""The command line. Every command's module is loaded only when that command is used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop import __version__
from allstop.cli.lazy import Commands
from allstop.cli.output import Context, asks_for_json, report_error, report_usage_error

if TYPE_CHECKING:
    from allstop.app.supervisor import RunKinds

COMMANDS = {
    "demo": (
        "setup.demo",
        "A sample repository, a board and a room of scripted agents; no keys, no network.",
    ),
    "init": ("setup.init", "Write allstop.toml from what this repository and machine have."),
    "doctor": (
        "setup.doctor",
        "Check git, the sandbox, agents, disk, port and keys; say how to fix each.",
    ),
    "config": ("setup.init", "Show every setting, its value and where it comes from."),
    "trust": ("setup.init", "Accept what this repository's allstop.toml asks of this machine."),
    "add": ("board.tasks", "Put a task on the board."),
    "list": ("board.tasks", "Every task of the board."),
    "show": ("board.tasks", "Everything known of a task."),
    "edit": ("board.tasks", "Change what is said of a task."),
    "rm": ("board.tasks", "Take a task off the board; its record and its work stay."),
    "next": ("board.tasks", "What would be started next, and why."),
    "import": ("board.import_export", "Put the tasks of a file on the board."),
    "export": ("board.import_export", "All tasks as text: json, markdown or csv."),
    "run": ("run", "Work on the board's tasks, or on a PROMPT, until nothing is ready."),
    "up": ("up", "Open the control room in the browser."),
    "room": ("rooms.room", 'Let agents talk about a GOAL; type to join in, "Allstop" ends it.'),
    "auto": (
        "auto.auto",
        "Keep an agent going on a PROMPT, decision by decision; merge at the end.",
    ),
    "guidance": ("auto.guidance", "What guidance would tell an agent; `guidance demo` tries it."),
    "diff": ("board.diff", "What the work of a task or a thread changes."),
    "approve": ("board.review", "Merge work that waits for review."),
    "redo": ("board.review", "Send work that waits for review back, with a comment."),
    "comment": (
        "board.comment",
        "Say something of lines of the work, as one message to its agent.",
    ),
    "reject": ("board.review", "Cancel a task whose work waits for review."),
    "retry": ("board.review", "Try a task again; its workspace is kept."),
    "skip": ("board.review", "Go on as if a task were done."),
    "assign": ("board.review", "Start this one next, whatever the mode."),
    "pin": ("board.review", "Put a task in front of all scores."),
    "limit": ("limit", "Give a run or a task other limits."),
    "take": (
        "board.takeover",
        "Take a task over by hand, in a clone of your own; its agent waits.",
    ),
    "give": ("board.takeover", "Give a task back: its agent goes on from what you have committed."),
    "split": ("board.review", "Put smaller tasks in the place of one."),
    "rollback": ("board.review", "Take a task's work out of the target branch again."),
    "clean": ("board.review", "Show which workspaces can go; with --yes, remove them."),
    "mode": ("board.review", "Who picks tasks: autopilot or semi."),
    "status": ("control", "Show what runs, what waits, and what needs you."),
    "today": ("usage", "What all runs have used today; with a limit, allow them more."),
    "usage": ("usage", "Tokens and money by agent, model, task, run or day."),
    "watch": ("watch", "Show what happens in all runs, as it happens."),
    "stop": ("control", "Allstop: everything ends now. With RUN, only that one."),
    "pause": ("control", "No new turn; the current one ends in peace."),
    "resume": ("run", "Lift an Allstop or a pause; with RUN, go on with it here."),
    "freeze": ("control", "Stop processes where they are."),
    "thaw": ("control", "Let frozen processes go on."),
    "abort": ("control", "End RUN for good; what it made is kept."),
    "tell": ("control", "Say something to RUN: its agent hears it at once, or at its next turn."),
    "answer": ("control", "Answer what RUN asked."),
    "allow": ("control", "Let the agent of RUN do what it asks to do."),
    "deny": ("control", "Don't let the agent of RUN do what it asks to do."),
    "log": ("log", "What happened in RUN, line by line."),
    "receipts": ("log", "Every decision of RUN: what was known, what came of it."),
    "replay": ("log", "Decide everything in RUN again and show each difference."),
    "mcp": ("mcp", "An MCP server on stdio: clients list, inspect and stop runs; never start."),
    "agents": ("setup.agents", "The configured agents; `agents test NAME` tries one."),
    "notify": (
        "setup.notify",
        "How you are told; `notify test` tries everything that is configured.",
    ),
    "approvals": (
        "setup.approvals",
        "What agents may run; `approvals check COMMAND` says it of one.",
    ),
}


@click.group(cls=Commands, commands_table=COMMANDS, invoke_without_command=True)
@click.version_option(__version__, prog_name="allstop")
@click.option(
    "-C",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Work in this folder instead of the current one.",
)
@click.option(
    "--set",
    "flags",
    metavar="KEY=VALUE",
    multiple=True,
    help="Override a setting for this call, e.g. --set loop.max_iterations=5.",
)
@click.pass_context
def group(context: click.Context, folder: Path | None, flags: tuple[str, ...]) -> None:
    """Run AI agents unattended, with brakes."""
    context.obj = Context(folder or Path.cwd(), flags, context.obj)
    if context.invoked_subcommand is None:
        from allstop.cli.control import show_status

        show_status(context.obj, as_json=False)


def main(args: Sequence[str] | None = None, kinds: RunKinds | None = None) -> None:
    """Run the command line; `kinds` replaces the program's own table of kinds of runs.

    Errors are printed in one or two lines, or with --json as one object on standard output.
    """
    args = sys.argv[1:] if args is None else args
    as_json = asks_for_json(args)
    try:
        code = group.main(args, standalone_mode=False, prog_name="allstop", obj=kinds)
    except click.ClickException as error:
        sys.exit(report_usage_error(error, as_json=as_json))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - an unknown one is raised again
        sys.exit(report_error(error, as_json=as_json))
    sys.exit(code if isinstance(code, int) else 0)
