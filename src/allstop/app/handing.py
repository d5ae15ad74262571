"""Taking a task over by hand, and giving it back; its agent waits meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from allstop.adapters.git import handing
from allstop.adapters.git.repository import Repository
from allstop.app import board
from allstop.app.following import follow
from allstop.app.looking import record_of
from allstop.app.speaking import speak
from allstop.core import run as runs
from allstop.core.commands import Give, Pause, Resume
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, child_of, root_of
from allstop.core.inbox import needs_person, what_helps
from allstop.core.tasks import Status, Task

if TYPE_CHECKING:
    from allstop.app.house import House


class Handed(NamedTuple):
    at: str
    commit: str
    driven: bool


def default_place(house: House, task_id: str) -> Path:
    """Next to the repository, under its name and the task's."""
    root = house.repository
    return root.with_name(f"{root.name}-{task_id}")


async def pause(house: House, task_id: str) -> RunId:
    """No new turn of its agent; returns once the one under way has ended.

    Raises:
        AllstopError: nobody works on that task.
    """
    run = await _run_of(house, task_id)
    await speak(house, run, Pause(), by="allstop take")
    if root_of(run) in house.journal.holders():
        await _at_rest(house, run)
    return run


async def take(house: House, task_id: str, at: Path) -> Handed:
    """A clone of the person's own, with the work as it stands.

    Raises:
        AllstopError: it can't be had.
    """
    handing.must_be_free(at)
    run = await pause(house, task_id)
    commit = await handing.lend(Repository(house.repository), task_id, at)
    return Handed(str(at), commit, root_of(run) in house.journal.holders())


async def give(house: House, task_id: str, at: Path) -> Handed:
    """The agent goes on from what the person has committed.

    Raises:
        AllstopError: it was not taken over, or there is nothing to give.
    """
    run = await _run_of(house, task_id)
    recorded = await record_of(house, run)
    if runs.fold(recorded.pilot, recorded.events).hold is not Hold.PAUSED:
        raise AllstopError(f"{task_id} was not taken over", f"`allstop take {task_id}` first")
    commit = await handing.take_back(Repository(house.repository), task_id, at)
    await speak(house, run, Give(commit=commit))
    spoken = await speak(house, run, Resume())
    return Handed(str(at), commit, spoken.driven)


async def _run_of(house: House, task_id: str) -> RunId:
    task = await board.find(house, task_id)
    run = child_of(BOARD, task.open)
    if not task.open or not any(attempt.run == run for attempt in task.attempts):
        raise AllstopError(f"{task_id} is {task.status}: no agent works on it", _instead(task))
    return run


def _instead(task: Task) -> str:
    if task.has_crashed:
        return (
            f"`allstop diff {task.id}` shows what it left, `allstop run {task.id}` goes on with it"
        )
    if task.status is Status.PENDING:
        return f"`allstop run {task.id}` starts it"
    return f"`{what_helps(task)}` goes on with it" if needs_person(task) else ""


async def _at_rest(house: House, run: RunId) -> None:
    async with follow(house.journal, run) as batches:
        async for _ in batches:
            recorded = await record_of(house, run)
            state = runs.fold(recorded.pilot, recorded.events)
            if state.open_move is None or state.closed is not None:
                return
