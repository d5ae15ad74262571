"""Queues a start for approval, and drives what an approved start has started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.cli.output import WAITS, echo, print_json

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.start_requests import StartRequest
    from allstop.app.supervisor import RunKinds
    from allstop.core.commands import Approve, Reject


async def queue_start(project: Project, request: StartRequest, *, as_json: bool) -> int:
    """Record a start that waits for approval; returns the exit code.

    Raises AllstopError while an Allstop is in force.
    """
    from allstop.app.runs.commands import refuse_if_stopped
    from allstop.app.runs.queued_starts import queue

    await refuse_if_stopped(project)
    run = await queue(project, request)
    if as_json:
        print_json({"run": run, "waits": "approval"})
    else:
        echo(f"{run} waits for approval. Start it: allstop approve {run}")
        echo(f"          Drop it: allstop reject {run}")
    return WAITS


async def command_run(
    project: Project, kinds: RunKinds, run_id: str, command: Approve | Reject, *, as_json: bool
) -> int | None:
    """Send a command to a run that takes it itself, and drive here what it starts.

    Returns the exit code; None if no such run takes this command.

    Raises AllstopError while an Allstop is in force.
    """
    from allstop.app.supervisor import start_supervisor
    from allstop.cli.run_terminal import show_until_over
    from allstop.core.commands import Approve
    from allstop.core.events import Opened
    from allstop.core.ids import BOARD, RunId

    records = await project.journal.read(RunId(run_id)) if project.has_store else []
    opened = records[0].event if records else None
    if not isinstance(opened, Opened) or type(command) not in kinds[opened.kind].commands:
        return None
    since = project.clock.now()
    async with start_supervisor(project, kinds, lambda line: echo(line, err=True)) as supervisor:
        run = await supervisor.command(run_id, command, "user")
        assert run is not None, "it takes the command"
        driven = next((each for each in (run, BOARD) if supervisor.drives(each)), None)
        word = "approved" if isinstance(command, Approve) else "rejected"
        if driven is None:
            if as_json:
                print_json({"run": run, "command": command})
            else:
                echo(f"{run_id}: {word}.")
            return 0
        if not as_json:
            echo(f"{run_id}: {word}." if run == run_id else f"{run_id}: {word}; it starts {run}.")
        kind = project.kinds[supervisor.kind_of(driven)]
        return await show_until_over(supervisor.runtime, kind, driven, as_json=as_json, since=since)
