"""Remedies for a failed task: higher limits, and a fresh workspace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from allstop.adapters.git.repository.safe_names import folder_name
from allstop.adapters.git.workspace.folders import WorkspaceFolders
from allstop.app.board import commands as boards
from allstop.app.board.cleanup import discard_work, workspace_in_use
from allstop.board.task_commands import BOUNDS
from allstop.core import commands
from allstop.core.errors import AllstopError
from allstop.core.tasks import Changes, Status

if TYPE_CHECKING:
    from pathlib import Path

    from allstop.app.project import Project
    from allstop.board.state import BoardState
    from allstop.core.board_specs import BoardSpec
    from allstop.core.tasks import Task


class Clean(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="command", tag="clean"
):
    """Remove a task's workspace. A ref keeps its commits; the task's status stays."""


async def clean(project: Project, task_id: str) -> str:
    """Remove a task's workspace; returns the ref that backs up its work, or "".

    Raises AllstopError if it has no workspace, or the workspace is in use.
    """
    task = await boards.find_task(project, task_id)
    if task.open or task.status in (Status.MERGING, Status.REVIEW):
        raise workspace_in_use(task)
    if workspace_of(project, task_id) is None:
        hint = "it gets one when it is started"
        raise AllstopError(f"{task_id} has no workspace", hint, code="workspace_missing")
    return await discard_work(project, task_id)


def workspace_of(project: Project, task_id: str) -> Path | None:
    """The folder with the files that the task's agent works on, if it exists."""
    tree = WorkspaceFolders(project.folder / "workspaces" / folder_name(task_id))
    return tree.work if tree.folder.is_dir() else None


async def raise_limits(project: Project, task_id: str, times: float) -> str:
    """Multiply a task's limits; returns the new ones in words.

    Raises AllstopError if the task can't be changed in its current status.
    """
    made = Changes()

    def decide(state: BoardState) -> list[commands.Command]:
        nonlocal made
        task = state.board.get(task_id)
        made = raised(state.spec, task, times) if task else made
        return [commands.EditTask(task=task_id, changes=made)]

    await boards.send_commands(project, decide)
    return f"at most {made.iterations} iterations and {made.minutes:g} minutes from its next attempt on"


def raised(spec: BoardSpec, task: Task, times: float) -> Changes:
    """Both limits, since it isn't always known which one was too low."""
    own_s = spec.attempt_s_of(spec.agents_for(task.agent))
    minutes = own_s / 60 if task.minutes is None else task.minutes
    iterations = math.ceil((task.iterations or spec.iterations) * times)
    return Changes(
        iterations=int(_bounded("iterations", iterations)),
        minutes=_bounded("minutes", round(minutes * times, 2)),
    )


def _bounded(name: str, number: float) -> float:
    least, most = BOUNDS[name]
    return max(least, min(number, most))
