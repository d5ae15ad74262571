"""The merge queue, read from the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.board import commands
from allstop.app.runs.status import record_of
from allstop.core import run as runs
from allstop.views.merge_queue import MergeQueueView, merge_queue_view, merge_run

if TYPE_CHECKING:
    from allstop.app.project import Project


async def merge_queue(project: Project) -> MergeQueueView:
    state = (await commands.read(project)).state
    run = merge_run(state)
    if run is None:
        return merge_queue_view(state, None)
    recorded = await record_of(project, run)
    return merge_queue_view(state, runs.fold(recorded.pilot, recorded.events))
