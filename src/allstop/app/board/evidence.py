"""The evidence about a task's work and the review queue, read from journal and repository."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from allstop.adapters.git.repository.diff import Diff
from allstop.adapters.git.repository.repository import Repository
from allstop.app.board import commands
from allstop.app.board.diff import diff_of
from allstop.app.gate_receipts import receipt_files
from allstop.app.runs.status import record_of
from allstop.board.criteria import Named
from allstop.board.state import BoardState
from allstop.core import run as runs
from allstop.core.board_specs import ReviewMode
from allstop.core.errors import AllstopError, NotFoundError
from allstop.core.ids import RunId
from allstop.core.tasks import Status, Task
from allstop.views import evidence as views

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.board.attempt import TaskState
    from allstop.core.run import RunState
    from allstop.gate.receipt import GateReceipt

MAX_LOOKED_UP = 100
"""How many of the named files and tests are looked up in the work."""


async def evidence_of_task(project: Project, task_id: str) -> views.Evidence:
    """Raises AllstopError if there is no such task, or it was never started."""
    task = await commands.find_task(project, task_id)
    return await evidence(project, task, await _attempt(project, last_run(task)))


async def evidence(project: Project, task: Task, attempt: RunState[TaskState]) -> views.Evidence:
    state = attempt.pilot
    try:
        found = await diff_of(project, task)
    except NotFoundError:  # its agent has not changed anything yet
        found = Diff("", "")
    return views.evidence(
        task,
        state,
        [views.FileChange(*file) for file in found.files],
        base=found.base,
        tip=found.tip,
        patch=found.patch,
        cut=found.cut,
        present=await _present(project, views.claims(task, state), found.tip),
        receipt=_receipt(project, state),
    )


def _receipt(project: Project, attempt: TaskState) -> GateReceipt | None:
    """The receipt of the last check of this attempt; None if it can't be read."""
    digest = attempt.gate_result.receipt if attempt.gate_result is not None else ""
    try:
        return receipt_files(project).read(digest)
    except (AllstopError, OSError):
        return None


async def _present(project: Project, named: Collection[Named], tip: str) -> set[Named]:
    """Those of the named files and tests that exist in the commit."""
    if not named or not tip:
        return set()
    repository = project.open_repository()
    try:
        looked_up = list(named)[:MAX_LOOKED_UP]
        return {each for each in looked_up if await _is_present(repository, each, tip)}
    finally:
        repository.close()


async def _is_present(repository: Repository, named: Named, tip: str) -> bool:
    shown = await repository.run("cat-file", "-p", f"{tip}:{named.file}")
    return shown.code == 0 and named.test.encode() in shown.out


async def review_queue(project: Project) -> list[views.QueuedReview]:
    """The tasks that wait for a decision, the worst finding first."""
    state = (await commands.read(project)).state
    rows = [
        queued(state, task, await _attempt(project, last_run(task))) for task in in_review(state)
    ]
    return views.queue(rows)


def in_review(state: BoardState) -> list[Task]:
    return [task for task in state.board.tasks() if task.status is Status.REVIEW]


def queued(state: BoardState, task: Task, attempt: RunState[TaskState]) -> views.QueuedReview:
    """A row of the queue. Where each task is reviewed by itself, none is approved with others."""
    mode = state.spec.review_of(task.tags)
    return views.queued(task, attempt.pilot, can_batch=mode is not ReviewMode.PER_TASK)


def last_run(task: Task) -> RunId:
    """Raises AllstopError if the task was never started."""
    if not task.attempts:
        hint = f"`allstop run {task.id}` starts it"
        raise AllstopError(f"{task.id} has not been started yet", hint, code="task_not_started")
    return task.attempts[-1].run


async def _attempt(project: Project, run: RunId) -> RunState[Any]:
    recorded = await record_of(project, run)
    return runs.fold(recorded.pilot, recorded.events)
