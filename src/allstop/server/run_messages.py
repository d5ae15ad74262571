"""Builds the messages that API responses and the event stream share."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from msgspec import Struct

from allstop.app.board import overview
from allstop.board.graph import Board
from allstop.core.helm import Helm
from allstop.core.ids import BOARD, RunId, child_of
from allstop.core.tasks import Task
from allstop.server import wire_types
from allstop.views import sprints

if TYPE_CHECKING:
    from allstop.app.live_runs import LiveRuns
    from allstop.board.sprint import Sprint
    from allstop.board.state import BoardState
    from allstop.core.run import RunState


def hold_view(helm: Helm) -> wire_types.HoldView:
    return wire_types.HoldView(hold=helm.hold.value, since=helm.since, by=helm.by, stops=helm.stops)


async def task_view(
    live_runs: LiveRuns, board: Board, task: Task, halted: Collection[str]
) -> overview.TaskView:
    """Return a task as shown; `halted` are the ids of stopped tasks."""
    warning = await live_runs.warning(task)
    return overview.view(board, task, warning, stopped=task.id in halted)


async def detail_of(live_runs: LiveRuns, run: RunId) -> Struct | None:
    """Return the details that only this kind of run has."""
    state = (await live_runs.run(run)).state
    kind, view = live_runs.kind(run), await live_runs.view(run)
    return kind.detail(run, state, view, live_runs.helm, live_runs.now)


async def sprint_view(
    live_runs: LiveRuns, board: RunState[BoardState], sprint: Sprint
) -> sprints.SprintView:
    """Return a sprint as shown, with the usage of its running attempts."""
    names = [child_of(BOARD, ref) for ref, task in board.pilot.refs.items() if task in sprint.open]
    known = [name for name in names if live_runs.knows(name)]
    under_way = {name: (await live_runs.run(name)).state.tally for name in known}
    return sprints.view(sprint, board.pilot, live_runs.now, under_way, board.limits)
