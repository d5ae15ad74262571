"""Queued starts as the app approves and rejects them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.runs import queued_starts
from allstop.app.supervisor import RunKind, Supervisor
from allstop.core.commands import Approve, Reject
from allstop.core.ids import RunId

if TYPE_CHECKING:
    from allstop.app.runs.status import RunRecord
    from allstop.core.commands import Command


class StartRunKind(RunKind):
    commands = (Approve, Reject)

    async def command(
        self, supervisor: Supervisor, recorded: RunRecord, command: Command, by: str
    ) -> RunId:
        """Start or drop it. The claim keeps two processes from approving the same start."""
        assert isinstance(command, Approve | Reject), "it takes no other command"
        project, run = supervisor.project, recorded.run
        async with project.journal.claim(run):
            types = supervisor.kinds.requests()
            request = await queued_starts.request_of(project, run, types)
            if isinstance(command, Approve):
                started = await supervisor.open(request, approved=True)
            else:
                started = run
            await queued_starts.end(project, run, command, by)
        return started
