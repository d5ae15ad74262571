"""The command line. Every command's module is loaded only when that command is used."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from allstop import __version__
from allstop.cli.lazy import Commands
from allstop.cli.output import Context, complain

COMMANDS = {
    "demo": (
        "demo",
        "A sample repository, a board and a room of scripted agents; no keys, no network.",
    ),
    "init": ("setup", "Write allstop.toml from what this repository and machine have."),
    "doctor": (
        "doctor",
        "Check git, the sandbox, agents, disk, port and keys; say how to fix each.",
    ),
    "config": ("setup", "Show every setting, its value and where it comes from."),
    "trust": ("setup", "Accept what this repository's allstop.toml asks of this machine."),
    "add": ("tasks", "Put a task on the board."),
    "list": ("tasks", "Every task of the board."),
    "show": ("tasks", "Everything known of a task."),
    "edit": ("tasks", "Change what is said of a task."),
    "rm": ("tasks", "Take a task off the board; its record and its work stay."),
    "next": ("tasks", "What would be started next, and why."),
    "import": ("exchange", "Put the tasks of a file on the board."),
    "export": ("exchange", "All tasks as text: json, markdown or csv."),
    "run": ("work", "Work on the board's tasks, or on a PROMPT, until nothing is ready."),
    "up": ("up", "Open the control room in the browser."),
    "room": ("room", 'Let agents talk about a GOAL; type to join in, "Allstop" ends it.'),
    "auto": ("auto", "Keep an agent going on a PROMPT, decision by decision; merge at the end."),
    "guidance": ("guidance", "What guidance would tell an agent; `guidance demo` tries it."),
    "diff": ("diff", "What the work of a task or a thread changes."),
    "approve": ("people", "Merge work that waits for review."),
    "redo": ("people", "Send work that waits for review back, with a comment."),
    "comment": ("remarks", "Say something of lines of the work, as one message to its agent."),
    "reject": ("people", "Cancel a task whose work waits for review."),
    "retry": ("people", "Try a task again; its workspace is kept."),
    "skip": ("people", "Go on as if a task were done."),
    "assign": ("people", "Start this one next, whatever the mode."),
    "pin": ("people", "Put a task in front of all scores."),
    "limit": ("limits", "Give a run or a task other limits."),
    "take": ("handing", "Take a task over by hand, in a clone of your own; its agent waits."),
    "give": ("handing", "Give a task back: its agent goes on from what you have committed."),
    "split": ("people", "Put smaller tasks in the place of one."),
    "rollback": ("people", "Take a task's work out of the target branch again."),
    "clean": ("people", "Show which workspaces can go; with --yes, remove them."),
    "mode": ("people", "Who picks tasks: autopilot or semi."),
    "status": ("control", "Show what runs, what waits, and what needs you."),
    "today": ("day", "What all runs have used today; with a limit, allow them more."),
    "usage": ("day", "Tokens and money by agent, model, task, run or day."),
    "watch": ("watching", "Show what happens in all runs, as it happens."),
    "stop": ("control", "Allstop: everything ends now. With RUN, only that one."),
    "pause": ("control", "No new turn; the current one ends in peace."),
    "resume": ("work", "Lift an Allstop or a pause; with RUN, go on with it here."),
    "freeze": ("control", "Stop processes where they are."),
    "thaw": ("control", "Let frozen processes go on."),
    "abort": ("control", "End RUN for good; what it made is kept."),
    "tell": ("control", "Say something to RUN: its agent hears it at once, or at its next turn."),
    "answer": ("control", "Answer what RUN asked."),
    "allow": ("control", "Let the agent of RUN do what it asks to do."),
    "deny": ("control", "Don't let the agent of RUN do what it asks to do."),
    "log": ("record", "What happened in RUN, line by line."),
    "receipts": ("record", "Every decision of RUN: what was known, what came of it."),
    "replay": ("record", "Decide everything in RUN again and show each difference."),
    "mcp": ("mcp", "An MCP server on stdio: clients list, inspect and stop runs; never start."),
    "agents": ("agents", "The configured agents; `agents test NAME` tries one."),
    "notify": ("notify", "How you are told; `notify test` tries everything that is configured."),
    "approvals": ("approvals", "What agents may run; `approvals check COMMAND` says it of one."),
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
    context.obj = Context(folder or Path.cwd(), flags)
    if context.invoked_subcommand is None:
        from allstop.cli.control import show_status

        show_status(context.obj, as_json=False)


def main() -> None:
    """Run the command line; whatever goes wrong is said in one or two lines."""
    try:
        code = group.main(standalone_mode=False, prog_name="allstop")
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - told apart there; what is unknown is raised again
        sys.exit(complain(error))
    sys.exit(code if isinstance(code, int) else 0)
