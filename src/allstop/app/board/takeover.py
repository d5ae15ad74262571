"""Takeover of a task by a person, and giving it back; its agent waits meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from allstop.adapters.git.workspace import takeover
from allstop.app.board import commands
from allstop.app.runs.commands import deliver_command
from allstop.app.runs.follow import follow
from allstop.app.runs.status import record_of
from allstop.core import run as runs
from allstop.core.commands import Give, Pause, Resume, Take
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, child_of
from allstop.core.tasks import STALLED, Status, Task
from allstop.ports import is_driven
from allstop.views.inbox import needs_person, suggested_command

if TYPE_CHECKING:
    from allstop.app.project import Project


class Handover(NamedTuple):
    at: str
    commit: str
    driven: bool


def default_folder(project: Project, task_id: str) -> Path:
    """Next to the repository, named after it and the task."""
    root = project.repository
    return root.with_name(f"{root.name}-{task_id}")


async def pause(project: Project, task_id: str) -> RunId:
    """Pause the task's run; returns when its running turn has ended.

    Raises AllstopError if no agent works on that task.
    """
    run = await _run_of(project, task_id)
    await deliver_command(project, run, Pause(), by="allstop take")
    if is_driven(run, project.journal.holders()):
        await _wait_until_idle(project, run)
    return run


async def take(project: Project, task_id: str, at: Path) -> Handover:
    """Give the person a clone with the task's work.

    Raises AllstopError if the folder is not empty, or the task has no work to take over.
    """
    takeover.require_empty_folder(at)
    if _is_idle(await commands.find_task(project, task_id)):
        await commands.send_commands(project, lambda _: [Take(task=task_id)])
    else:
        await pause(project, task_id)
    commit = await takeover.lend_clone(project.open_repository(), task_id, at)
    return Handover(str(at), commit, BOARD in project.journal.holders())


async def give(project: Project, task_id: str, at: Path) -> Handover:
    """Let the agent continue from the person's commits.

    Raises AllstopError if the task was not taken over, or there is nothing to give.
    """
    if _is_idle(await commands.find_task(project, task_id)):
        commit = await takeover.fetch_takeover(project.open_repository(), task_id, at)
        await commands.send_commands(project, lambda _: [Give(task=task_id, commit=commit)])
        return Handover(str(at), commit, BOARD in project.journal.holders())
    run = await _run_of(project, task_id)
    recorded = await record_of(project, run)
    if runs.fold(recorded.pilot, recorded.events).hold is not Hold.PAUSED:
        hint = f"`allstop take {task_id}` first"
        raise AllstopError(f"{task_id} was not taken over", hint, code="not_taken_over")
    commit = await takeover.fetch_takeover(project.open_repository(), task_id, at)
    await deliver_command(project, run, Give(commit=commit))
    effect = await deliver_command(project, run, Resume())
    return Handover(str(at), commit, effect.driven)


def _is_idle(task: Task) -> bool:
    """Whether it was started, and no agent works on it until a person or the board resumes it."""
    is_waiting = task.status in STALLED or task.held or task.has_crashed
    return is_waiting and bool(task.attempts) and not task.open


async def _run_of(project: Project, task_id: str) -> RunId:
    task = await commands.find_task(project, task_id)
    run = child_of(BOARD, task.open)
    if not task.open or not any(attempt.run == run for attempt in task.attempts):
        message = f"{task_id} is {task.status}: no agent works on it"
        raise AllstopError(message, _hint(task), code="task_not_worked_on")
    return run


def _hint(task: Task) -> str:
    if task.status is Status.PENDING:
        return f"`allstop run {task.id}` starts it"
    return f"`{suggested_command(task)}` continues it" if needs_person(task) else ""


async def _wait_until_idle(project: Project, run: RunId) -> None:
    async with follow(project.journal, run) as batches:
        async for _ in batches:
            recorded = await record_of(project, run)
            state = runs.fold(recorded.pilot, recorded.events)
            if state.open_move is None or state.closed is not None:
                return
