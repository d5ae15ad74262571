"""Checkpoints: what returning to one would undo, and doing it by new commits and events."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from allstop.adapters.git.repository.branch_history import commits_on_top
from allstop.app.board import commands
from allstop.app.board.cleanup import check_rollback, discard_work_and_branch
from allstop.core.commands import RollBack
from allstop.core.errors import AllstopError, NotFoundError
from allstop.core.tasks import Status
from allstop.core.text import one_line
from allstop.views import sprints as views

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.board.graph import Board
    from allstop.board.state import BoardState
    from allstop.core.tasks import Task
    from allstop.views.sprints import CheckpointView


class UndoneTask(Struct, frozen=True, kw_only=True):
    """A task that is pending again after a restore."""

    id: str
    title: str
    status: str
    commit: str  # its merge commit, which is reverted; "": its unmerged work is discarded


class KeptCommit(Struct, frozen=True, kw_only=True):
    """A commit on the target that is no merge of a task: it stays."""

    commit: str
    subject: str


class Undo(Struct, frozen=True, kw_only=True):
    """What a restore would do."""

    checkpoint: CheckpointView
    merged: list[UndoneTask]  # the latest merge first, as they are reverted
    unmerged: list[UndoneTask]
    kept: list[KeptCommit]


async def checkpoint_views(project: Project) -> list[CheckpointView]:
    """The newest first."""
    return views.checkpoints(views.all_sprints((await commands.read(project)).state))


async def undo_of(project: Project, name: str) -> Undo:
    """What returning to a checkpoint would undo: all work on tasks that began after it.

    Raises AllstopError if there is no such checkpoint, or the target's history was rewritten.
    """
    name = f"sprint{name}" if name.isdigit() else name
    found = next((each for each in await checkpoint_views(project) if each.id == name), None)
    if found is None:
        hint = "`allstop checkpoint list` shows all"
        raise NotFoundError(f"there is no checkpoint {one_line(name, 60)!r}", hint)
    with closing(project.open_repository()) as repository:
        made = await commits_on_top(repository, found.target, found.commit)
    board = (await commands.read(project)).state.board
    by_commit = {task.merged: task for task in board.tasks() if task.merged}
    merged = [by_commit[each.commit] for each in made if each.commit in by_commit]
    done = {task.id for task in merged}
    return Undo(
        checkpoint=found,
        merged=[_undone(task, task.merged) for task in merged],
        unmerged=[_undone(each) for each in _begun_after(board, found) if each.id not in done],
        kept=[
            KeptCommit(commit=each.commit, subject=one_line(each.subject, 200))
            for each in made
            if each.commit not in by_commit
        ],
    )


def _undone(task: Task, commit: str = "") -> UndoneTask:
    return UndoneTask(id=task.id, title=task.title, status=task.status.value, commit=commit)


def _begun_after(board: Board, checkpoint: CheckpointView) -> list[Task]:
    """Tasks with unmerged work that began after the checkpoint; work rolled back has no target."""
    return [
        task
        for task in board.tasks()
        if task.target
        and not task.merged
        and any(attempt.began_at >= checkpoint.at for attempt in task.attempts)
    ]


async def refuse_if_at_work(project: Project, undo: Undo) -> None:
    """Raises AllstopError while a sprint runs, or a task that would be undone is at work."""
    state = (await commands.read(project)).state
    if state.sprint is not None:
        hint = "`allstop sprint cancel` ends it"
        raise AllstopError(f"{state.sprint.id} is running", hint, code="sprint_running")
    for each in (*undo.merged, *undo.unmerged):
        task = state.board[each.id]
        if (task.open or task.status is Status.MERGING) and not _is_being_reverted(task):
            hint = f"wait for it, or end it with `allstop abort {task.id}`"
            raise AllstopError(f"{task.id} is {task.status}", hint, code="task_wrong_status")


def _is_being_reverted(task: Task) -> bool:
    """Whether an earlier restore was interrupted before it was reverted."""
    return bool(task.merged) and task.status is Status.MERGING


async def discard_unmerged(project: Project, undo: Undo) -> dict[str, str]:
    """Make the tasks with unmerged work pending again; gives the refs that back up their work.

    Raises AllstopError if a part of the work can't be backed up; tasks before it are done.
    """
    kept = {}
    for each in undo.unmerged:
        await check_rollback(project, each.id)
        command = RollBack(task=each.id)
        await commands.send_commands(project, partial(_always, command))
        kept[each.id] = await discard_work_and_branch(project, each.id)
    return kept


def _always(command: RollBack, state: BoardState) -> list[RollBack]:
    return [command]


def revert_commands(undo: Undo) -> list[RollBack]:
    """The commands that revert the merged work, the latest merge first."""
    return [RollBack(task=each.id) for each in undo.merged if each.status == Status.DONE]
