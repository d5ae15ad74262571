"""Overview of the board for people: its phase and its tasks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from allstop.app.board import commands
from allstop.app.runs.status import helm_of, record_of, runs_below
from allstop.board import graph, remedy_hints
from allstop.board.graph import Board, Score
from allstop.board.task_actions import task_actions
from allstop.core import run as runs
from allstop.core.ids import BOARD, RunId
from allstop.core.run import RunState
from allstop.core.tasks import OVER, Attempt, Status, Task
from allstop.views.board_phase import below, counts, phase, stopped

if TYPE_CHECKING:
    from allstop.app.project import Project

STOPPED = "stopped; it continues where it was"


class TaskView(Struct, frozen=True, kw_only=True):
    """A task as people see it."""

    id: str
    title: str
    status: str
    body: str
    operation: str
    needs: tuple[str, ...]
    waits_for: tuple[str, ...]  # the unmet needs
    ready: bool
    tags: tuple[str, ...]
    priority: int
    agent: str | None
    iterations: int | None
    minutes: float | None
    stuck_after: int | None  # turns without a commit before a warning
    may_change: tuple[str, ...]  # which tests its work may change, as a person has declared
    labels: tuple[str, ...]  # what a machine of a fleet must offer for it
    retries: int
    attempts: tuple[Attempt, ...]
    pinned: bool
    pin: int  # higher pins come first; 0 is not pinned
    score: int
    assigned: bool
    held: bool
    note: str
    warning: str  # about its running attempt
    run: str | None  # the latest attempt, for `allstop log`
    to_confirm: str  # findings in its verified work that `approve` must confirm
    unverified: bool  # no check was configured when its work was accepted
    merged: str
    review_decision: str  # of a person about its work: approved, redo, rejected, or ""
    decided_at: datetime | None
    lacks_merge: bool  # verified and approved, but not merged: `approve` tries again
    tokens: int
    cost_usd: float
    partial: bool = False  # more was used, or spent, than agents reported
    remedies: tuple[str, ...]  # for a stalled task: the commands that may help, best first
    hint: str  # the same in words
    actions: tuple[str, ...]  # the commands that the board accepts for it now, the best first


class BoardView(Struct, frozen=True, kw_only=True):
    phase: str
    mode: str
    counts: dict[str, int]
    tasks: list[TaskView]


class Choice(Struct, frozen=True, kw_only=True):
    """A ready task and its score."""

    task: TaskView
    score: Score
    pinned: bool


async def overview(project: Project) -> BoardView:
    read = await commands.read(project)
    helm = await helm_of(project)
    driven = BOARD in project.records.holders()
    state = read.state
    tasks = list(state.board.tasks())
    open_ = (await runs_below(project, state)).values()
    under = below(state, open_)
    halted = stopped(state, helm, under)
    warned = {state.refs[run.opened.ref]: _warning(project, run) for run in open_}
    return BoardView(
        phase=phase(read.run, helm, under, driven=driven).value,
        mode=state.spec.mode.value,
        counts=counts(state.board, halted),
        tasks=[
            view(state.board, task, warned.get(task.id, ""), stopped=task.id in halted)
            for task in tasks
        ],
    )


async def choices(project: Project, most: int) -> list[Choice]:
    """The tasks that would start next, best first."""
    board = (await commands.read(project)).state.board
    found: list[Choice] = []
    for task in graph.ready(board):
        if len(found) == most:
            break
        whole = board[task.id]
        score = graph.score(board, whole)
        found.append(Choice(task=view(board, whole), score=score, pinned=bool(whole.pin)))
    return found


async def view_of(project: Project, task_id: str) -> TaskView:
    """Raises AllstopError if there is no such task."""
    task = await commands.find_task(project, task_id)
    state = (await commands.read(project)).state
    run = attempt_under_way(task)
    recorded = await record_of(project, run) if run else None
    attempt = [runs.fold(recorded.pilot, recorded.events)] if recorded else []
    halted = stopped(state, await helm_of(project), below(state, attempt))
    warning = "".join(_warning(project, each) for each in attempt)
    return view(state.board, task, warning, stopped=task.id in halted)


def _warning(project: Project, attempt: RunState[Any]) -> str:
    is_open = attempt.closed is None
    return project.kinds[attempt.opened.kind].warning(attempt) if is_open else ""


def attempt_under_way(task: Task) -> RunId | None:
    is_open = bool(task.open and task.attempts) and task.attempts[-1].outcome is None
    return task.attempts[-1].run if is_open else None


def view(board: Board, task: Task, warning: str = "", *, stopped: bool = False) -> TaskView:
    tally = task.tally
    waits = tuple(need.id for need in graph.waits_for(board, task))
    return TaskView(
        id=task.id,
        title=task.title,
        status=(Status.PENDING if stopped else task.status).value,
        body=task.body,
        operation=task.operation,
        needs=task.needs,
        waits_for=waits if task.status not in OVER else (),
        ready=task.status is Status.PENDING and not waits and not task.held,
        tags=task.tags,
        priority=task.priority,
        agent=task.agent,
        iterations=task.iterations,
        minutes=task.minutes,
        stuck_after=task.stuck_after,
        may_change=task.may_change,
        labels=task.labels,
        retries=task.retries,
        attempts=task.attempts,
        pinned=bool(task.pin),
        pin=task.pin,
        score=graph.score(board, task).total,
        assigned=task.assigned,
        held=task.held,
        note=STOPPED if stopped else task.note,
        warning=warning,
        run=task.attempts[-1].run if task.attempts else None,
        to_confirm=task.findings,
        unverified=task.unverified,
        merged=task.merged,
        review_decision=task.review_decision or "",
        decided_at=task.decided_at,
        lacks_merge=task.lacks_merge,
        tokens=tally.tokens,
        cost_usd=tally.cost_microusd / 1e6,
        partial=tally.partial,
        remedies=() if stopped else remedy_hints.remedies(task),
        hint="" if stopped else remedy_hints.hint(task),
        actions=() if stopped else task_actions(task, waits=bool(waits)),
    )


def changed_since(tasks: Iterable[Task], since: datetime) -> list[Task]:
    return [task for task in tasks if task.changed_at is not None and task.changed_at >= since]
