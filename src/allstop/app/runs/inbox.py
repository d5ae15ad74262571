"""The inbox of a project: everything that waits for a person, read from the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.runs.status import helm_of, record_of
from allstop.board.board_pilot import BoardState
from allstop.core import run
from allstop.core.ids import BOARD, root_of
from allstop.core.run import RunState
from allstop.views.inbox import OpenRun, Waiting
from allstop.views.inbox import inbox as list_waiting

if TYPE_CHECKING:
    from allstop.app.project import Project


async def inbox(project: Project) -> list[Waiting]:
    """The waiting items, oldest first."""
    if not project.has_store:
        return []
    held = project.records.holders()
    open_runs = []
    for head in await project.records.heads():
        if not head.closed:
            recorded = await record_of(project, head.run)
            state = run.fold(recorded.pilot, recorded.events)
            open_runs.append(
                OpenRun(
                    run=head.run,
                    kind=recorded.kind,
                    state=state,
                    last_at=recorded.events[-1].at,
                    driven=root_of(head.run) in held,
                    idle=head.run == BOARD and not state.pilot.is_braked,
                )
            )
    helm = await helm_of(project)
    board: RunState[BoardState] | None = next((s.state for s in open_runs if s.run == BOARD), None)
    tasks = board.pilot.board.tasks() if board else ()
    return list_waiting(open_runs, tasks, project.clock.now(), helm)
