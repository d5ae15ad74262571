"""Cleanup of unneeded workspaces: lists them, and removes them without losing work."""

from __future__ import annotations

from contextlib import asynccontextmanager, closing, contextmanager, nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from allstop.adapters.git.repository.safe_names import folder_name
from allstop.adapters.git.workspace.cleanup import Leftover, Removal, WorkspaceCleanup
from allstop.adapters.git.workspace.orphan_refs import (
    OrphanRefs,
    find_orphan_refs,
    remove_orphan_refs,
)
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app import runtime
from allstop.app.board import commands
from allstop.board.graph import Board
from allstop.core.errors import AllstopError
from allstop.core.ids import BOARD
from allstop.core.tasks import OVER, STALLED, Status, Task, branch_of
from allstop.ports import HeldError, Launcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from allstop.adapters.git import GitWorkspaces
    from allstop.app.project import Project

LABEL = "clean"


@asynccontextmanager
async def _cleaning(project: Project, *, alone: bool = True) -> AsyncIterator[WorkspaceCleanup]:
    """With `alone`, no other process can drive the board meanwhile."""
    async with project.journal.claim(BOARD) if alone else nullcontext():
        project.make_folder()
        launcher = await make_launcher(project.settings.sandbox.mode.value, project.live)
        workspaces = await runtime.open_workspaces(project, launcher)
        folder = project.folder / "workspaces"
        yield WorkspaceCleanup(
            project.open_repository(), folder, launcher=launcher, workspaces=workspaces
        )


async def leftovers(project: Project) -> list[Leftover]:
    """All workspaces that no task needs."""
    tasks = (await commands.read(project)).state.board
    async with _cleaning(project) as cleaning:
        found = await cleaning.leftovers(LABEL)
    return [each for each in found if not _is_needed(tasks.get(each.name))]


async def orphan_refs(project: Project) -> list[OrphanRefs]:
    """The refs of removed linked checkouts of this repository."""
    return await find_orphan_refs(project.open_repository())


async def kept_for_people(project: Project) -> list[str]:
    """The stalled tasks whose workspaces are kept, so that a person can help."""
    tasks = (await commands.read(project)).state.board.tasks()
    folder = project.folder / "workspaces"
    stalled = (task.id for task in tasks if _is_stalled(task))
    return [name for name in stalled if (folder / folder_name(name)).is_dir()]


def _is_stalled(task: Task) -> bool:
    return (task.status in STALLED and not task.open) or task.has_crashed


def _is_needed(task: object) -> bool:
    status = getattr(task, "status", None)
    return status is not None and status not in OVER


async def remove(project: Project, names: list[str], *, force: bool) -> list[Removal]:
    tasks = (await commands.read(project)).state.board
    repository = project.open_repository()
    for name in names:
        task = tasks.get(name)
        if task is not None and (task.open or task.status is Status.MERGING):
            raise workspace_in_use(task)
    async with _cleaning(project) as cleaning:
        return [
            await remove_orphan_refs(repository, name, force=force)
            if name.startswith("@")
            else await cleaning.remove(name, LABEL, force=force)
            for name in names
        ]


def workspace_in_use(task: Task) -> AllstopError:
    message = f"{task.id} is {task.status}: its workspace is in use"
    return AllstopError(message, f"`allstop abort {task.id}` first", code="workspace_in_use")


async def check_rollback(project: Project, task_id: str) -> Task:
    """Raises AllstopError if there is no such task, its branch is checked out somewhere, or a part
    of its workspace could not be backed up.
    """
    task = await commands.find_task(project, task_id)
    if not task.merged:
        async with _cleaning(project, alone=False) as cleaning:
            await cleaning.refuse_if_in_use(task_id, branch_of(task_id))
            await cleaning.refuse_if_lost(task_id, LABEL)
    return task


async def discard_work_and_branch(project: Project, task_id: str) -> str:
    """Discard a task's work and its branch; returns the ref that backs it up."""
    return await discard_work(project, task_id, branch_of(task_id))


async def discard_work(project: Project, task_id: str, branch: str = "") -> str:
    """Discard the work of a task that can't start meanwhile; returns the ref that backs it up."""
    async with _cleaning(project, alone=False) as cleaning:
        return await cleaning.reset(task_id, LABEL, branch)


@contextmanager
def _open_cleanup(
    project: Project, workspaces: GitWorkspaces, launcher: Launcher
) -> Iterator[WorkspaceCleanup]:
    """For a process that drives runs and has open workspaces."""
    folder = project.folder / "workspaces"
    with closing(project.open_repository()) as repository:
        yield WorkspaceCleanup(repository, folder, launcher=launcher, workspaces=workspaces)


# --- by age ---


def is_due(project: Project, task: Task) -> bool:
    """Whether its workspace is older than `[workspace] keep_days` since it was merged or cancelled."""
    before = project.clock.now() - timedelta(days=project.settings.workspace.keep_days)
    return (
        task.status in OVER
        and bool(task.attempts)
        and task.changed_at is not None
        and task.changed_at < before
        and (project.folder / "workspaces" / folder_name(task.id)).is_dir()
    )


def due_tasks(project: Project, tasks: Board) -> list[str]:
    return [task.id for task in tasks.tasks() if is_due(project, task)]


async def remove_due(project: Project, tasks: Board) -> None:
    """Remove due workspaces without unsaved work, unless another process drives the board."""
    if not (old := due_tasks(project, tasks)):
        return
    with suppress(HeldError):
        async with _cleaning(project) as cleaning:
            for name in old:
                await cleaning.remove(name, LABEL)


async def remove_workspace(
    project: Project, workspaces: GitWorkspaces, launcher: Launcher, name: str
) -> None:
    """Remove one workspace, in a process that drives the board or has claimed it."""
    with _open_cleanup(project, workspaces, launcher) as cleaning:
        await cleaning.remove(name, LABEL)
