"""Stops everything, or one run and the runs below it, from any process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.stop import everything, one_run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.stop.receipts import Stopped


async def stop(project: Project, by: str, run: str | None = None) -> Stopped:
    """Stop a run, a task's latest attempt or a room; without `run`, everything.

    Raises AllstopError if there is no such run, or it is over.
    """
    if run is None:
        return await everything.stop(project, by)
    return await one_run.stop(project, run, by)


async def would_stop(project: Project, run: str | None = None) -> tuple[list[str], list[str]]:
    """The driving processes and the agents that a stop would end.

    Raises AllstopError if there is no such run, or it is over.
    """
    if run is not None:
        return [], await one_run.would_stop(project, run)
    return everything.would_stop(project) if project.has_store else ([], [])
