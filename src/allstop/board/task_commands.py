"""What a person may tell a board of its tasks, and what becomes of the board."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import NamedTuple

from msgspec import UNSET

from allstop.board import graph
from allstop.board.dependencies import path_between
from allstop.board.graph import Board
from allstop.core import bounds
from allstop.core.commands import (
    AddTasks,
    Approve,
    Assign,
    EditTask,
    Give,
    Order,
    Pin,
    Redo,
    Reject,
    RemoveTask,
    Retry,
    RollBack,
    Skip,
    Take,
    TaskCommand,
)
from allstop.core.ids import BOARD, HELM
from allstop.core.review_comments import Review, in_words
from allstop.core.tasks import ID, OVER, STALLED, Changes, NewTask, Status, Task

RESERVED = (BOARD, HELM)
THREAD = re.compile(r"(auto|guidance)[0-9]+")
"""What runs beside the board are called: they have workspaces of these names, too."""

BOUNDS = {
    "priority": (-bounds.PRIORITY, bounds.PRIORITY),
    "iterations": (1, bounds.COUNT),
    "minutes": (0.01, bounds.MINUTES),
    "stuck_after": (1, bounds.COUNT),
}
"""Numbers that can be said of a task."""


class Refusal(NamedTuple):
    message: str
    hint: str = ""


# --- what is refused --------------------------------------------------------------------------


def refusal(board: Board, command: TaskCommand) -> Refusal | None:
    """Why a board does not take this; None where it does."""
    if isinstance(command, AddTasks):
        return _adding(board, frozenset(), command.tasks)
    if isinstance(command, Order):
        each = (refusal(board, Pin(task=task)) for task in command.tasks)
        return next((found for found in each if found), None)
    task = board.get(command.task)
    if task is None:
        return Refusal(f"there is no task {command.task!r}", what_else(board, command.task))
    return _of_one(board, task, command)


def _adding(board: Board, more: AbstractSet[str], tasks: Sequence[NewTask]) -> Refusal | None:
    """`more` are tasks that are there besides those of the board."""
    nodes = board.nodes
    new: set[str] = set()
    for task in tasks:
        if ID.fullmatch(task.id) is None:
            return Refusal(
                f"{task.id!r} can't be the id of a task",
                "letters, digits, '.', '_' and '-', at most 64, the first a letter or digit",
            )
        if task.id in RESERVED:
            return Refusal(f"{task.id!r} can't be the id of a task", "it is the name of a run")
        if not task.title.strip():
            return Refusal(f"task {task.id} has no title", "say what is to be done")
        if task.id in new or task.id in more or task.id in nodes:
            return Refusal(f"there is a task {task.id!r} already", f"see `allstop show {task.id}`")
        needs = task.needs
        if needs and not new.issuperset(needs):
            missing = [n for n in needs if n not in new and n not in more and n not in nodes]
            if missing:
                return _unknown_needs(task.id, missing)
        new.add(task.id)
    return None


def out_of_bounds(command: TaskCommand) -> Refusal | None:
    """Asked of what is new only: in a record from before there were bounds, it holds."""
    match command:
        case AddTasks(tasks=tasks):
            each = (_threads_own(task.id) or _beyond(task.id, task) for task in tasks)
            return next((found for found in each if found), None)
        case EditTask(task=task, changes=changes):
            return _beyond(task, changes)
        case _:
            return None


def _threads_own(name: str) -> Refusal | None:
    is_taken = THREAD.fullmatch(name) is not None
    return (
        Refusal(f"{name!r} can't be the id of a task", "runs are called so") if is_taken else None
    )


def _beyond(task: str, said: NewTask | Changes) -> Refusal | None:
    for name, (least, most) in BOUNDS.items():
        value = getattr(said, name)
        if value is None or value is UNSET or least <= value <= most:
            continue
        shown = f"{value:,}" if abs(value) < 10**18 else "such a number"
        return Refusal(f"{name} of {task} can't be {shown}", f"from {least:,} to {most:,}")
    return None


def _unknown_needs(task: str, missing: Sequence[str]) -> Refusal:
    return Refusal(
        f"{task} needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not on"
        " the board",
        "add what is needed first; `allstop list` shows what there is",
    )


def _of_one(  # noqa: C901 - one case for each
    board: Board, task: Task, command: TaskCommand
) -> Refusal | None:
    match command:
        case EditTask():
            return _editing(board, task, command)
        case Assign():
            return _assigning(board, task)
        case Retry():
            can = task.held or task.has_crashed or _is_stalled(task)
            return _unless(task, can, "retried", _instead(task))
        case Take():
            can = bool(task.attempts) and (task.has_crashed or task.held or _is_stalled(task))
            return _unless(task, can, "taken over", _instead(task))
        case Give():
            return _unless(task, task.held or _is_stalled(task), "given back", _instead(task))
        case Skip():
            free = task.status not in OVER and not _at_work(task)
            return _unless(task, free, "skipped", _instead(task))
        case RemoveTask():
            free = task.status is not Status.DONE and not _at_work(task)
            return _unless(task, free, "removed", _instead(task))
        case Approve() | Redo() | Reject():
            can_merge = isinstance(command, Approve) and task.lacks_merge
            is_there = task.status is Status.REVIEW or can_merge
            return _unless(task, is_there, "reviewed", "only verified work waits for review")
        case RollBack():
            has_work = bool(task.merged or task.attempts) or task.status is not Status.DONE
            can = has_work and not _at_work(task)
            return _unless(task, can, "rolled back", _instead(task))
        case Pin():
            return _unless(task, task.status not in OVER, "pinned")
        case AddTasks() | Order():
            raise AssertionError("it is about several")


def _unless(task: Task, fine: bool, done: str, hint: str = "") -> Refusal | None:  # noqa: FBT001
    return None if fine else Refusal(f"{task.id} is {task.status}: it can't be {done}", hint)


def _at_work(task: Task) -> bool:
    """Whether a run of it is open: it is changed by telling that run."""
    return bool(task.open) or task.status is Status.MERGING


def _is_stalled(task: Task) -> bool:
    return (task.status in STALLED or task.status is Status.CANCELLED) and not task.asks


def _instead(task: Task) -> str:
    if task.asks:
        return f'it asks something: `allstop answer {task.id} "…"`, or `allstop abort {task.id}`'
    if task.status is Status.ACTIVE:
        return f"`allstop abort {task.id}` ends it first, `allstop resume {task.id}` goes on if it is held"
    if _at_work(task):
        return f"`allstop abort {task.id}` ends it first"
    if task.status is Status.REVIEW:
        return (
            f"`allstop approve {task.id}` merges its work, `allstop redo {task.id}` sends it back"
        )
    if _is_stalled(task):
        return f"`allstop retry {task.id}` makes it ready again"
    if task.status is Status.PENDING:
        return f"`allstop run {task.id}` starts it"
    if task.status is Status.SKIPPED:
        return f"`allstop rollback {task.id}` makes it pending again"
    return ""


def _assigning(board: Board, task: Task) -> Refusal | None:
    if waiting := graph.waits_for(board, task):
        names = ", ".join(need.id for need in waiting)
        return Refusal(f"{task.id} waits for {names}", "those come first")
    return _unless(task, task.status is Status.PENDING, "started", _instead(task))


def _editing(board: Board, task: Task, command: EditTask) -> Refusal | None:
    changes = command.changes
    if changes.title is not UNSET and not changes.title.strip():
        return Refusal(f"task {task.id} would have no title")
    if _at_work(task) or task.status is Status.DONE:
        return Refusal(f"{task.id} is {task.status}: it can't be edited", _instead(task))
    if changes.needs is UNSET:
        return None
    if missing := [need for need in changes.needs if need not in board.nodes]:
        return _unknown_needs(task.id, missing)
    for need in changes.needs:
        if path := path_between(board, need, task.id):
            return _cycle([task.id, *path])
    return None


def _cycle(path: Iterable[str]) -> Refusal:
    return Refusal(f"these need each other: {' → '.join(path)}", "take one of the needs away")


def what_else(board: Board, name: str) -> str:
    """What may have been meant by a task that is not there."""
    if re.fullmatch(r"auto\d+|room:.+", name):
        return f"this is for tasks of the board; for others there is `allstop resume {name}`"
    if not len(board.nodes):
        return 'the board is empty: allstop add "TITLE"'
    ids = (node.task.id for node in board.nodes.values())
    meant = next((each for each in ids if each.casefold() == name.casefold()), None)
    return f"did you mean {meant}?" if meant else "`allstop list` shows what there is"


def in_order(new: Sequence[NewTask]) -> list[NewTask] | Refusal:
    """Tasks that may need each other, each after those it needs; or the cycle they are in."""
    by_id: dict[str, NewTask] = {}
    for task in new:
        if task.id in by_id:
            return Refusal(f"there are two tasks {task.id!r}", "give one of them another id")
        by_id[task.id] = task
    done: dict[str, NewTask] = {}
    for task in new:
        path = {} if task.id in done else {task.id: iter(task.needs)}
        while path:
            top = next(reversed(path))
            need = next((n for n in path[top] if n in by_id and n not in done), None)
            if need is None:
                done[top] = by_id[top]
                del path[top]
            elif need in path:
                names = list(path)
                return _cycle([*names[names.index(need) :], need])
            else:
                path[need] = iter(by_id[need].needs)
    return list(done.values())


# --- what becomes of it -----------------------------------------------------------------------


class Adding:
    """Additions one after the other, carried out at once: a big board is made of little else."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._taken: list[tuple[NewTask, datetime]] = []
        self._ids: set[str] = set()

    def take(self, command: AddTasks, at: datetime) -> None:
        """What the board refuses changes nothing."""
        if _adding(self._board, self._ids, command.tasks) is None:
            self._taken += [(task, at) for task in command.tasks]
            self._ids.update(task.id for task in command.tasks)

    def board(self) -> Board:
        """The board afterwards."""
        return graph.add_all(self._board, self._taken)


def carried_out(  # noqa: C901 - one case for each
    board: Board, command: TaskCommand, at: datetime, *, merge: bool, assign: bool = True
) -> Board:
    """The board afterwards; what it refuses changes nothing.

    `assign`: whoever is retried is assigned, too.
    """
    if refusal(board, command) is not None:
        return board
    if isinstance(command, AddTasks):
        return graph.add(board, command.tasks, at)
    if isinstance(command, Order):
        return graph.order(board, command.tasks)
    task = board[command.task]
    match command:
        case EditTask(changes=changes):
            return graph.edit(board, task, changes)
        case Pin(on=on):
            return graph.pin(board, task, on=on)
        case Assign(agent=agent):
            return graph.update(
                board, task, assigned=True, held=False, agent=agent or task.agent, changed_at=at
            )
        case Take():
            is_ready = task.status is Status.PENDING
            return graph.update(board, task, held=True, changed_at=at) if is_ready else board
        case Give(commit=commit):
            return _again(board, task, at, given=commit, conflicts=0, assigned=assign)
        case Retry(text=text):
            news = _seen(command) if command.remarks else text or task.news
            retries = task.retries + (not task.has_crashed)  # the crash has been counted
            again = {"retries": retries, "news": news, "conflicts": 0, "assigned": assign}
            return _again(board, task, at, **again, reviews=_reviews(task, command, at))
        case Redo():
            reviews = _reviews(task, command, at)
            return _again(board, task, at, news=_seen(command), reviews=reviews)
        case Skip():
            return _set(board, task, Status.SKIPPED, at)
        case RemoveTask():
            return _set(board, task, Status.CANCELLED, at)
        case Reject():
            return _set(board, task, Status.CANCELLED, at, note="rejected")
        case RollBack() if is_merged(task):
            return graph.queue_merge(board, task, at)  # what is merged already is taken out
        case RollBack():
            return rolled_back(board, task, at)
        case Approve():
            return approved(board, task, at, merge=merge)


def _seen(command: Retry | Redo) -> str:
    words = in_words(command.text, command.remarks)
    return f"A person looked at your work and says: {words}"


def _reviews(task: Task, command: Retry | Redo, at: datetime) -> tuple[Review, ...]:
    if not command.remarks:
        return task.reviews
    return (*task.reviews, Review(at=at, text=command.text, remarks=command.remarks))


def is_merged(task: Task) -> bool:
    """Where merging is off, done is not merged."""
    return task.status is Status.DONE and bool(task.merged)


def approved(board: Board, task: Task, at: datetime, *, merge: bool) -> Board:
    if merge:
        return graph.queue_merge(board, task, at)
    return _set(board, task, Status.DONE, at)


def rolled_back(board: Board, task: Task, at: datetime) -> Board:
    """Pending, but only a person starts it again."""
    begins_anew = {"news": "", "given": "", "onto": "", "merged": "", "target": ""}
    return _again(board, task, at, assigned=False, held=True, **begins_anew)


def _set(board: Board, task: Task, status: Status, at: datetime, note: str = "") -> Board:
    return graph.update(board, task, status=status, note=note, assigned=False, pin=0, changed_at=at)


def _again(board: Board, task: Task, at: datetime, **changes: object) -> Board:
    given = {"assigned": True, "held": False, **changes}
    return graph.update(
        board, task, status=Status.PENDING, note="", verified="", changed_at=at, **given
    )
