"""The command `allstop` and its table of commands; a command's module is loaded on use."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.lazy import CommandEntry, LazyGroup
from allstop.cli.output import Context, asks_for_json, report_error, report_usage_error
from allstop.version import describe_version

if TYPE_CHECKING:
    from allstop.app.supervisor import RunKinds

COMMANDS = {
    "Start work": {
        "run": CommandEntry("run", "Work on tasks, or on a prompt, until nothing is ready"),
        "room": CommandEntry("rooms.room", "Let agents discuss a goal; you can join in"),
        "auto": CommandEntry("auto.auto", "Keep one agent working until a goal is reached"),
        "plan": CommandEntry("plans.plan", "Write a plan, and let an agent do its steps in order"),
        "sprint": CommandEntry("sprints.sprint", "Work on the board up to a target"),
        "up": CommandEntry("up", "Open the control room in the browser"),
        "worker": CommandEntry("worker", "Work on tasks of a board that another machine drives"),
    },
    "Plan tasks on the board": {
        "add": CommandEntry("board.tasks", "Add a task"),
        "list": CommandEntry("board.tasks", "List the tasks"),
        "show": CommandEntry("board.tasks", "Show a task with its attempts, checks and findings"),
        "edit": CommandEntry("board.tasks", "Change a task"),
        "rm": CommandEntry("board.tasks", "Cancel a task; its record and its work are kept"),
        "split": CommandEntry("board.review", "Replace a task by smaller ones"),
        "next": CommandEntry("board.tasks", "Show which task would start next, and why"),
        "pin": CommandEntry("board.review", "Put tasks at the front of the queue"),
        "assign": CommandEntry("board.review", "Start a task next, in any mode"),
        "mode": CommandEntry("board.review", "Choose who picks tasks: the loop or you"),
        "import": CommandEntry("board.import_export", "Add the tasks of a file"),
        "export": CommandEntry("board.import_export", "Print all tasks as JSON, Markdown or CSV"),
    },
    "Review work": {
        "review": CommandEntry("board.review_queue", "Review waiting work, one key per decision"),
        "flaky": CommandEntry(
            "board.flaky_tests", "List the tests that failed and passed on one tree"
        ),
        "queue": CommandEntry(
            "board.merge_queue", "Show what is merged, what waits, and what was thrown out"
        ),
        "verify": CommandEntry("board.verify", "Check the receipt of a verified tree again"),
        "diff": CommandEntry("board.diff", "Show the changes of a task or a thread"),
        "comment": CommandEntry("board.comment", "Comment on lines of a diff, for its agent"),
        "approve": CommandEntry(
            "board.review",
            "Merge work that waits for review, or start a queued run",
        ),
        "redo": CommandEntry("board.review", "Send work back to its agent, with a comment"),
        "reject": CommandEntry(
            "board.review", "Cancel a task that waits for review, or drop a queued start"
        ),
        "retry": CommandEntry("board.review", "Try a failed task again in its workspace"),
        "skip": CommandEntry("board.review", "Treat a task as done without doing it"),
        "take": CommandEntry("board.takeover", "Take over a task by hand, in your own clone"),
        "give": CommandEntry("board.takeover", "Give a task back to its agent"),
        "rollback": CommandEntry("board.review", "Revert or discard the work of a task"),
        "checkpoint": CommandEntry(
            "sprints.checkpoint", "List the checkpoints of sprints, or return to one"
        ),
        "clean": CommandEntry("board.review", "Show or remove workspaces that can be removed"),
    },
    "Watch": {
        "status": CommandEntry("control", "Show what runs, what waits, and what needs you"),
        "watch": CommandEntry("watch", "Print the events of all runs as they happen"),
        "log": CommandEntry("log", "Print what happened in a run"),
        "receipts": CommandEntry("log", "Print each decision of a run and its reasons"),
        "replay": CommandEntry("log", "Repeat the decisions of a run and show differences"),
        "failures": CommandEntry("failures", "List why a turn can fail, and what to do"),
        "usage": CommandEntry(
            "usage", "Show tokens and cost by agent, model, task, run, day or sprint"
        ),
        "stats": CommandEntry(
            "board.statistics", "Show what the board has done, by agent, tag, day or sprint"
        ),
        "forecast": CommandEntry("board.forecast", "Forecast when tasks end and what they cost"),
        "today": CommandEntry("usage", "Show today's usage, or raise today's limits"),
    },
    "Steer": {
        "tell": CommandEntry("control", "Send a message to the agent of a run"),
        "answer": CommandEntry("control", "Answer a question of an agent"),
        "allow": CommandEntry("control", "Allow what an agent asks to do"),
        "deny": CommandEntry("control", "Deny what an agent asks to do"),
        "limit": CommandEntry("limit", "Change the limits of a run or a task"),
    },
    "Stop and resume": {
        "stop": CommandEntry("control", "Stop everything now, or one run (Allstop)"),
        "pause": CommandEntry("control", "Pause after the current turn"),
        "freeze": CommandEntry("control", "Freeze processes where they are"),
        "thaw": CommandEntry("control", "Let frozen processes continue"),
        "resume": CommandEntry("run", "Lift a stop or pause, or resume a run here"),
        "abort": CommandEntry("control", "End a run for good; its work is kept"),
    },
    "Set up": {
        "demo": CommandEntry("setup.demo", "See it work in a sample repository, without keys"),
        "init": CommandEntry("setup.init", "Write allstop.toml for this repository"),
        "doctor": CommandEntry("setup.doctor", "Check this machine and say how to fix problems"),
        "config": CommandEntry("setup.init", "Show all settings with their values and origins"),
        "trust": CommandEntry("setup.init", "Accept the sensitive settings of this repository"),
        "agents": CommandEntry("setup.agents", "List the configured agents, or test one"),
        "store": CommandEntry("store", "Check the journal's store, or copy it to another one"),
        "fleet": CommandEntry("fleet", "Set up and watch machines that share one board"),
        "gateway": CommandEntry("setup.gateway", "Test the gateway between boxes and models"),
        "guidance": CommandEntry("auto.guidance", "Try out the guidance of Full Auto"),
        "approvals": CommandEntry("setup.approvals", "Check whether agents may run a command"),
        "limits": CommandEntry(
            "setup.limit_check", "Check how errors of agents and providers are understood"
        ),
        "notify": CommandEntry("setup.notify", "Test the notifications"),
        "mcp": CommandEntry("mcp", "Serve MCP: clients can inspect and stop runs"),
        "completion": CommandEntry("completion", "Print a completion script for a shell"),
    },
}
"""The module of each command and its line in `allstop --help`: the first of its own help."""

COMPLETION_VARIABLE = "_ALLSTOP_COMPLETE"
"""Set by completion scripts of click: the program prints completions instead of running."""


@click.group(cls=LazyGroup, table=COMMANDS, invoke_without_command=True)
@click.version_option(describe_version(), prog_name="allstop")
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
    """Run AI agents unattended, with brakes. Without a command, show the status."""
    context.obj = Context(folder or Path.cwd(), flags, context.obj)
    if context.invoked_subcommand is None:
        from allstop.cli.control import show_status

        show_status(context.obj, as_json=False)


def main(args: Sequence[str] | None = None, kinds: RunKinds | None = None) -> None:
    """Run the command line; `kinds` replaces the program's own table of kinds of runs.

    Errors are printed in one or two lines, or with --json as one object on standard output.
    """
    args = sys.argv[1:] if args is None else args
    if COMPLETION_VARIABLE in os.environ:
        _complete(kinds)
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


def _complete(kinds: RunKinds | None) -> None:
    """Print completions and exit; an error must not disturb the line that a person types."""
    try:
        group.main([], prog_name="allstop", obj=kinds)
    except Exception:  # noqa: BLE001 - then there are no completions
        sys.exit(1)
