"""The MCP server's tools: list, inspect and stop runs. None of them starts a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from allstop.app.runs.commands import deliver_command
from allstop.app.runs.status import record_of, status
from allstop.app.stop.allstop import stop as stop_all
from allstop.core.commands import Allstop
from allstop.views.log import lines

if TYPE_CHECKING:
    from allstop.app.project import Project

LAST_LINES = 50


class _Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Nothing(_Arguments, frozen=True):
    pass


class OneRun(_Arguments, frozen=True):
    run: Annotated[str, Meta(min_length=1, description="The run's id, or a task's.")]


class AnyRun(_Arguments, frozen=True):
    run: Annotated[
        str | None, Meta(description="Only this run; without it, everything is stopped.")
    ] = None


class Tool(NamedTuple):
    name: str
    description: str
    takes: type[_Arguments]
    do: Callable[[Project, Any], Awaitable[object]]


async def _list(project: Project, _: Nothing) -> object:
    return await status(project)


async def _inspect(project: Project, arguments: OneRun) -> object:
    recorded = await record_of(project, arguments.run)
    log = [f"{line.mark} {line.text}" for event in recorded.events for line in lines(event)]
    return {
        "run": recorded.run,
        "kind": recorded.opened.kind,
        "title": recorded.opened.title,
        "events": len(recorded.events),
        "log": log[-LAST_LINES:],
    }


async def _stop(project: Project, arguments: AnyRun) -> object:
    if arguments.run is None:
        return await stop_all(project, "an MCP client")
    await deliver_command(project, arguments.run, Allstop(), by="an MCP client")
    return {"stopped": arguments.run}


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("list_runs", "What runs, what waits, and what needs a person.", Nothing, _list),
        Tool("inspect_run", "What a run is and what happened in it lately.", OneRun, _inspect),
        Tool("stop", "Allstop: everything ends now; or one run only.", AnyRun, _stop),
    )
}
