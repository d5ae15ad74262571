"""Queued starts: with `[loop] auto_execute` off, a start waits here for a person's approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import msgspec

from allstop.app.runs.names import open_under_free_name
from allstop.app.runs.status import record_of
from allstop.core import run as runs
from allstop.core.commands import Approve, Reject
from allstop.core.errors import AllstopError
from allstop.core.events import Closed, Commanded, Opened
from allstop.core.ids import HELM, RunId
from allstop.core.moves import Outcome
from allstop.core.text import one_line
from allstop.ports import Cursor, Entry, StaleError
from allstop.starts.pilot import StartPilot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allstop.app.project import Project
    from allstop.app.start_requests import StartRequest

PILOT = StartPilot()


async def queue(project: Project, request: StartRequest) -> RunId:
    """Record a start that a person must approve; returns the name of its run."""
    body = _redacted(project, msgspec.to_builtins(request))
    about = one_line(project.secrets.redact_certain(request.subject), 80)
    kind = str(body["kind"])
    title = f"{kind}: {about}" if about else kind

    async def open_(run: RunId) -> bool:
        spec = {"name": run, "request": body}
        opened = Opened(at=project.clock.now(), kind=PILOT.kind, spec=spec, title=title)
        helm = await project.journal.read(HELM)
        try:
            expect = Cursor(run, 0, helm[-1].seq if helm else 0)
            await project.journal.append(Entry(run, opened), expect=expect)
        except StaleError:
            return False
        return True

    return await open_under_free_name(project, PILOT.kind, open_)


def _redacted(project: Project, value: Any) -> Any:
    """The value without the secrets in its texts; they are not in a command."""
    match value:
        case str():
            return project.secrets.redact_certain(value)
        case dict():
            return {key: _redacted(project, each) for key, each in value.items()}
        case list() | tuple():
            return [_redacted(project, each) for each in value]
        case _:
            return value


async def request_of(
    project: Project, run: RunId, types: Iterable[type[StartRequest]]
) -> StartRequest:
    """The request of a start that still waits; `types` are those of all kinds.

    Raises AllstopError if the start was approved or rejected before.
    """
    recorded = await record_of(project, run)
    state = runs.fold(PILOT, recorded.events)
    if state.closed is not None:
        done = "approved" if state.closed.outcome is Outcome.DONE else "rejected"
        message = f"{run} was {done} already"
        raise AllstopError(message, f"see `allstop log {run}`", code="run_over")
    request: StartRequest = msgspec.convert(state.pilot.request, Union[*types])
    return request


async def end(project: Project, run: RunId, command: Approve | Reject, by: str) -> None:
    """Record a person's decision and close the start."""
    at = project.clock.now()
    outcome = Outcome.DONE if isinstance(command, Approve) else Outcome.ABORTED
    await project.journal.append(
        Entry(run, Commanded(at=at, command=command, by=by)),
        Entry(run, Closed(at=at, outcome=outcome)),
    )
