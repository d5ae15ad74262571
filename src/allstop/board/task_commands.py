"""Commands on the tasks of a board: why one is refused, and how it changes the board."""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from allstop.board import graph
from allstop.board.dependencies import path_between
from allstop.board.graph import Board
from allstop.core import commands, number_bounds
from allstop.core.ids import BOARD, HELM
from allstop.core.review_comments import Review, ReviewDecision, in_words
from allstop.core.tasks import ID, LABEL, OVER, STALLED, Changes, NewTask, Status, Task

RESERVED = (BOARD, HELM)
THREAD = re.compile(r"(auto|draft|guidance|plan)[0-9]+")
"""Names of runs beside the board, whose workspaces have these names."""

BOUNDS = {
    "priority": (-number_bounds.PRIORITY, number_bounds.PRIORITY),
    "iterations": (1, number_bounds.COUNT),
    "minutes": (0.01, number_bounds.MINUTES),
    "stuck_after": (1, number_bounds.COUNT),
}
"""The allowed ranges of a task's numbers."""

_TITLE = "give it a title"


class Refusal(NamedTuple):
    """Why the board refuses a command: the fields of an AllstopError."""

    message: str
    hint: str
    code: str


# --- refusals ---------------------------------------------------------------------------------


def refusal(board: Board, command: commands.TaskCommand) -> Refusal | None:
    """Why the board refuses a command; None if it accepts it."""
    if isinstance(command, commands.AddTasks):
        return _adding(board, frozenset(), command.tasks)
    if isinstance(command, commands.Order):
        each = (refusal(board, commands.Pin(task=task)) for task in command.tasks)
        return next((found for found in each if found), None)
    task = board.get(command.task)
    if task is None:
        hint = what_else(board, command.task)
        return Refusal(f"there is no task {command.task!r}", hint, code="task_not_found")
    return _of_one(board, task, command)


def _adding(board: Board, more: AbstractSet[str], tasks: Sequence[NewTask]) -> Refusal | None:
    """`more` are ids of tasks that are about to be added."""
    nodes = board.nodes
    new: set[str] = set()
    for task in tasks:
        if ID.fullmatch(task.id) is None:
            return Refusal(
                f"{task.id!r} can't be the id of a task",
                "use at most 64 letters, digits, '.', '_' and '-'; begin with a letter or digit",
                code="task_id_invalid",
            )
        if task.id in RESERVED:
            return _reserved(task.id)
        if not task.title.strip():
            return Refusal(f"task {task.id} has no title", _TITLE, code="task_title_missing")
        if task.id in new or task.id in more or task.id in nodes:
            hint = f"`allstop show {task.id}` shows it"
            return Refusal(f"task {task.id!r} exists already", hint, code="task_exists")
        needs = task.needs
        if needs and not new.issuperset(needs):
            missing = [n for n in needs if n not in new and n not in more and n not in nodes]
            if missing:
                return _unknown_needs(task.id, missing)
        new.add(task.id)
    return None


def out_of_bounds(command: commands.TaskCommand) -> Refusal | None:
    """Why a new command is out of bounds. Not checked on replay: old journals have no bounds."""
    match command:
        case commands.AddTasks(tasks=tasks):
            each = (_threads_own(task.id) or _beyond(task.id, task) for task in tasks)
            return next((found for found in each if found), None)
        case commands.EditTask(task=task, changes=changes):
            return _beyond(task, changes)
        case _:
            return None


def unconfirmed(board: Board, command: commands.TaskCommand) -> Refusal | None:
    """Why a new approval needs a confirmation. Not checked on replay."""
    if not isinstance(command, commands.Approve) or command.confirmed:
        return None
    task = board.get(command.task)
    if task is None or task.status is not Status.REVIEW or not task.findings:
        return None
    hint = f"look at `allstop diff {task.id}`, then confirm: `allstop approve --yes {task.id}`"
    return Refusal(f"{task.id} has findings: {task.findings}", hint, code="findings_unconfirmed")


def _threads_own(name: str) -> Refusal | None:
    return _reserved(name) if THREAD.fullmatch(name) else None


def _reserved(name: str) -> Refusal:
    message = f"{name!r} can't be the id of a task"
    return Refusal(message, "runs have such names; choose another id", code="task_id_reserved")


def _beyond(task: str, said: NewTask | Changes) -> Refusal | None:
    for name, (least, most) in BOUNDS.items():
        value = getattr(said, name)
        if value is None or value is UNSET or least <= value <= most:
            continue
        shown = f"{value:,}" if abs(value) < 10**18 else "such a number"
        hint = f"use {least:,} to {most:,}"
        return Refusal(f"{name} of {task} can't be {shown}", hint, code="task_number_out_of_range")
    for label in said.labels or ():
        if LABEL.fullmatch(label) is None:
            hint = "use at most 32 letters, digits, '.', '_' and '-'; begin with a letter or digit"
            return Refusal(f"{label!r} can't be a label of {task}", hint, code="task_label_invalid")
    return None


def _unknown_needs(task: str, missing: Sequence[str]) -> Refusal:
    return Refusal(
        f"{task} needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not on"
        " the board",
        "add the needed tasks first; `allstop list` shows the board",
        code="task_needs_unknown",
    )


def _of_one(  # noqa: C901 - one case for each
    board: Board, task: Task, command: commands.TaskCommand
) -> Refusal | None:
    match command:
        case commands.EditTask():
            return _editing(board, task, command)
        case commands.Assign():
            return _assigning(board, task)
        case commands.Retry():
            can = task.held or task.has_crashed or _is_stalled(task)
            return _unless(task, can, "retried", _instead(task))
        case commands.Take():
            can = bool(task.attempts) and (task.has_crashed or task.held or _is_stalled(task))
            return _unless(task, can, "taken over", _instead(task))
        case commands.Give():
            return _unless(task, task.held or _is_stalled(task), "given back", _instead(task))
        case commands.Skip():
            free = task.status not in OVER and not _at_work(task)
            return _unless(task, free, "skipped", _instead(task))
        case commands.RemoveTask():
            free = task.status is not Status.DONE and not _at_work(task)
            return _unless(task, free, "removed", _instead(task))
        case commands.Approve() | commands.Redo() | commands.Reject():
            can_merge = isinstance(command, commands.Approve) and task.lacks_merge
            is_there = task.status is Status.REVIEW or can_merge
            return _unless(task, is_there, "reviewed", "only verified work can be reviewed")
        case commands.RollBack():
            has_work = bool(task.merged or task.attempts) or task.status is not Status.DONE
            can = has_work and not _at_work(task)
            return _unless(task, can, "rolled back", _instead(task))
        case commands.Pin():
            return _unless(task, task.status not in OVER, "pinned")
        case commands.AddTasks() | commands.Order():
            raise AssertionError("handled before: it names several tasks")


def _unless(task: Task, fine: bool, done: str, hint: str = "") -> Refusal | None:  # noqa: FBT001
    message = f"{task.id} is {task.status}: it can't be {done}"
    return None if fine else Refusal(message, hint, code="task_wrong_status")


def _at_work(task: Task) -> bool:
    """Whether a run of the task is open."""
    return bool(task.open) or task.status is Status.MERGING


def _is_stalled(task: Task) -> bool:
    return (task.status in STALLED or task.status is Status.CANCELLED) and not task.asks


def _instead(task: Task) -> str:
    if task.asks:
        return f'its agent asks: `allstop answer {task.id} "…"`, or `allstop abort {task.id}`'
    if task.status is Status.ACTIVE:
        return (
            f"end it with `allstop abort {task.id}`, or resume it with `allstop resume {task.id}`"
        )
    if _at_work(task):
        return f"end it first with `allstop abort {task.id}`"
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
        hint = "those tasks must be done first"
        return Refusal(f"{task.id} waits for {names}", hint, code="task_needs_unfinished")
    return _unless(task, task.status is Status.PENDING, "started", _instead(task))


def _editing(board: Board, task: Task, command: commands.EditTask) -> Refusal | None:
    changes = command.changes
    if changes.title is not UNSET and not changes.title.strip():
        return Refusal(f"task {task.id} would have no title", _TITLE, code="task_title_missing")
    can = not _at_work(task) and task.status is not Status.DONE
    refused = _unless(task, can, "edited", _instead(task))
    if refused or changes.needs is UNSET:
        return refused
    if missing := [need for need in changes.needs if need not in board.nodes]:
        return _unknown_needs(task.id, missing)
    for need in changes.needs:
        if path := path_between(board, need, task.id):
            return _cycle([task.id, *path])
    return None


def _cycle(path: Iterable[str]) -> Refusal:
    message = f"tasks need each other: {' → '.join(path)}"
    return Refusal(message, "remove one of the needs", code="task_needs_cycle")


def what_else(board: Board, name: str) -> str:
    """A hint for a task id that is not on the board."""
    if re.fullmatch(r"(auto|draft|plan)\d+|room:.+", name):
        return f"this command is for tasks of the board; `allstop resume {name}` resumes that run"
    if not len(board.nodes):
        return 'the board is empty: allstop add "TITLE"'
    ids = (node.task.id for node in board.nodes.values())
    meant = next((each for each in ids if each.casefold() == name.casefold()), None)
    return f"did you mean {meant}?" if meant else "`allstop list` shows the tasks"


def in_order(new: Sequence[NewTask]) -> list[NewTask] | Refusal:
    """The tasks sorted so that each comes after its needs; a refusal if there is a cycle."""
    by_id: dict[str, NewTask] = {}
    for task in new:
        if task.id in by_id:
            hint = "give one of them another id"
            return Refusal(f"there are two tasks {task.id!r}", hint, code="task_id_duplicate")
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


# --- changes of the board ---------------------------------------------------------------------


class Adding:
    """Collects successive `AddTasks` and applies them at once: big boards load faster."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._taken: list[tuple[NewTask, datetime]] = []
        self._ids: set[str] = set()

    def take(self, command: commands.AddTasks, at: datetime) -> None:
        """Collect a command; a refused one changes nothing."""
        if _adding(self._board, self._ids, command.tasks) is None:
            self._taken += [(task, at) for task in command.tasks]
            self._ids.update(task.id for task in command.tasks)

    def board(self) -> Board:
        """The board with all collected tasks."""
        return graph.add_all(self._board, self._taken)


def carried_out(  # noqa: C901 - one case for each
    board: Board, command: commands.TaskCommand, at: datetime, *, merge: bool, assign: bool = True
) -> Board:
    """The board after a command; a refused command changes nothing.

    `assign`: a retried task is assigned, too.
    """
    if refusal(board, command) is not None:
        return board
    if isinstance(command, commands.AddTasks):
        return graph.add(board, command.tasks, at)
    if isinstance(command, commands.Order):
        return graph.order(board, command.tasks)
    task = board[command.task]
    match command:
        case commands.EditTask(changes=changes):
            return graph.edit(board, task, changes)
        case commands.Pin(on=on):
            return graph.pin(board, task, on=on)
        case commands.Assign(agent=agent):
            return graph.update(
                board, task, assigned=True, held=False, agent=agent or task.agent, changed_at=at
            )
        case commands.Take():
            is_ready = task.status is Status.PENDING
            return graph.update(board, task, held=True, changed_at=at) if is_ready else board
        case commands.Give(commit=commit):
            return _again(board, task, at, given=commit, conflicts=0, assigned=assign)
        case commands.Retry(text=text):
            news = _seen(command) if command.remarks else text or task.news
            retries = task.retries + (not task.has_crashed)  # the crash has been counted
            again = {"retries": retries, "news": news, "conflicts": 0, "assigned": assign}
            return _again(board, task, at, **again, reviews=_reviews(task, command, at))
        case commands.Redo():
            decided = {"review_decision": ReviewDecision.REDO, "decided_at": at}
            reviews = _reviews(task, command, at)
            return _again(board, task, at, news=_seen(command), reviews=reviews, **decided)
        case commands.Skip():
            return _set(board, task, Status.SKIPPED, at)
        case commands.RemoveTask():
            return _set(board, task, Status.CANCELLED, at)
        case commands.Reject():
            task = replace(task, review_decision=ReviewDecision.REJECTED, decided_at=at)
            return _set(board, task, Status.CANCELLED, at, note="rejected")
        case commands.RollBack() if is_merged(task):
            return graph.queue_merge(board, task, at)  # the merge is reverted
        case commands.RollBack():
            return rolled_back(board, task, at)
        case commands.Approve():
            task = replace(task, review_decision=ReviewDecision.APPROVED, decided_at=at)
            return approved(board, task, at, merge=merge)


def _seen(command: commands.Retry | commands.Redo) -> str:
    words = in_words(command.text, command.remarks)
    return f"A person looked at your work and says: {words}"


def _reviews(
    task: Task, command: commands.Retry | commands.Redo, at: datetime
) -> tuple[Review, ...]:
    if not command.remarks and not isinstance(command, commands.Redo):
        return task.reviews
    return (*task.reviews, Review(at=at, text=command.text, remarks=command.remarks))


def is_merged(task: Task) -> bool:
    """Whether the task is done and its work merged; without merging it is only done."""
    return task.status is Status.DONE and bool(task.merged)


def approved(board: Board, task: Task, at: datetime, *, merge: bool) -> Board:
    if merge:
        return graph.queue_merge(board, task, at)
    return _set(board, task, Status.DONE, at)


def rolled_back(board: Board, task: Task, at: datetime) -> Board:
    """Make the task pending; only a person starts it again."""
    begins_anew = {"news": "", "given": "", "onto": "", "merged": "", "target": ""}
    merge = {"merged_at": None, "merge_s": 0.0, "conflicts_resolved": 0}
    return _again(board, task, at, assigned=False, held=True, **begins_anew, **merge)


def _set(board: Board, task: Task, status: Status, at: datetime, note: str = "") -> Board:
    return graph.update(board, task, status=status, note=note, assigned=False, pin=0, changed_at=at)


def _again(board: Board, task: Task, at: datetime, **changes: object) -> Board:
    given = {"assigned": True, "held": False, **changes}
    return graph.update(
        board, task, status=Status.PENDING, note="", verified="", changed_at=at, **given
    )
