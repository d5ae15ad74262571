"""A board: its tasks, what each of them waits for, and which is worth starting next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import UNSET, Struct, structs
from msgspec.structs import replace

from allstop.board.persistent import Row, Shelf
from allstop.core.tasks import MET, OVER, Changes, NewTask, Status, Task

UNBLOCKS, CRITICAL, QUICK_WIN, NEARLY_DONE, RETRY = 10, 50, 30, 20, -15

Rank: TypeAlias = tuple[bool, int, int, int, int, str]
"""What a ready task is ordered by, the best first: assigned, pin, score, priority, age; its id."""


_Front: TypeAlias = "Row[tuple[Rank, str]]"
_NOBODY: Row[str] = Row()


class Node(Struct, frozen=True, gc=False):
    """A task, and how it hangs together with the others."""

    task: Task
    wanted_by: Row[str] = _NOBODY  # the tasks that need it
    wants: int = 0  # how many of these are not over
    unmet: int = 0  # how many of its needs are not met
    place: tuple[str, Rank] | None = None  # while it is ready: in which operation, and where


class Operation(Struct, frozen=True, gc=False):
    """A group of tasks; the one without a name holds those that are in none."""

    total: int = 0
    done: int = 0
    ready: Row[Rank] = Row()
    front: Rank | None = None  # of its best, among all operations

    @property
    def bonus(self) -> int:
        return NEARLY_DONE if self.done * 2 > self.total else 0


class Score(Struct, frozen=True, kw_only=True):
    """Why a task is where it is."""

    total: int
    unblocks: int = 0
    critical: int = 0
    quick_win: int = 0
    nearly_done: int = 0
    retries: int = 0


class Board(Struct, frozen=True, gc=False, kw_only=True):
    nodes: Shelf[str, Node] = Shelf()
    operations: Shelf[str, Operation] = Shelf()
    front: _Front = Row()  # the best ready task of each operation
    merges: Row[tuple[int, str]] = Row()  # who waits to be merged, in the order they came
    sources: Shelf[str, str] = Shelf()  # what was imported, and as which task
    counts: dict[Status, int] = {}
    added: int = 0
    pinned: int = 0
    queued: int = 0
    upward: int = 0  # needs that are younger than what needs them: only an edit makes such

    def get(self, task: str) -> Task | None:
        node = self.nodes.get(task)
        return node.task if node else None

    def __getitem__(self, task: str) -> Task:
        return self.nodes[task].task

    def tasks(self) -> list[Task]:
        """Oldest first."""
        return sorted((node.task for node in self.nodes.values()), key=lambda task: task.number)

    def count(self, *statuses: Status) -> int:
        return sum(self.counts.get(status, 0) for status in statuses)


# --- looking ----------------------------------------------------------------------------------


def best(board: Board) -> Task | None:
    """The ready task to start next."""
    first = board.front.first
    return None if first is None else board[first[0][-1]]


def ready(board: Board) -> Iterator[Task]:
    """Every task that could start now, the best first."""
    while (task := best(board)) is not None:
        yield task
        board = update(board, task, status=Status.ACTIVE)


def score(board: Board, task: Task) -> Score:
    node = board.nodes[task.id]
    parts = _parts(task, node.wants)
    bonus = _bonus(board.operations.get(task.operation), task.operation)
    return Score(total=sum(parts.values()) + bonus, nearly_done=bonus, **parts)


def rank(board: Board, task: str) -> Rank | None:
    """Where it stands among all that are ready; None where it is not."""
    place = board.nodes[task].place
    return (
        None if place is None else _raised(place[1], _bonus(board.operations[place[0]], place[0]))
    )


def waits_for(board: Board, task: Task) -> list[Task]:
    """The needs of a task that are not met."""
    needs = (board[need] for need in task.needs)
    return [need for need in needs if need.status not in MET]


def _parts(task: Task, wants: int) -> dict[str, int]:
    return {
        "unblocks": UNBLOCKS * wants,
        "critical": CRITICAL if "critical" in task.tags else 0,
        "quick_win": QUICK_WIN if "quick-win" in task.tags else 0,
        "retries": RETRY * task.retries,
    }


def _bonus(operation: Operation | None, name: str) -> int:
    return operation.bonus if operation is not None and name else 0


# --- changing ---------------------------------------------------------------------------------


def add(board: Board, new: Sequence[NewTask], at: datetime) -> Board:
    """With new tasks, each after those it needs."""
    return add_all(board, [(each, at) for each in new])


def add_all(board: Board, new: Sequence[tuple[NewTask, datetime]]) -> Board:
    """With new tasks, each after those it needs, and when they came."""
    desk = _Desk(board)
    numbered = enumerate(new, start=board.added + 1)
    desk.add([_made(each, number, at) for number, (each, at) in numbered])
    sources = board.sources.plus({each.source: each.id for each, _ in new if each.source})
    return replace(desk.board(), added=board.added + len(new), sources=sources)


def _made(new: NewTask, number: int, at: datetime) -> Task:
    return Task(
        id=new.id,
        title=new.title,
        number=number,
        body=new.body,
        status=Status.DONE if new.done else Status.PENDING,
        operation=new.operation,
        needs=_once(new.needs),
        tags=new.tags,
        priority=new.priority,
        agent=new.agent,
        iterations=new.iterations,
        minutes=new.minutes,
        stuck_after=new.stuck_after,
        source=new.source,
        changed_at=at,
    )


def edit(board: Board, task: Task, changes: Changes) -> Board:
    given = {
        name: value
        for name in changes.__struct_fields__
        if (value := getattr(changes, name)) is not UNSET
    }
    if changes.needs is not UNSET:
        given["needs"] = _once(changes.needs)
    return update(board, task, **given)


def _once(needs: tuple[str, ...]) -> tuple[str, ...]:
    """A need that was named twice is one need."""
    return needs if len(needs) < 2 else tuple(dict.fromkeys(needs))


def update(board: Board, task: Task, **changes: object) -> Board:
    """With other values in some of a task's fields."""
    return put(board, structs.replace(task, **changes))


def put(board: Board, task: Task) -> Board:
    desk = _Desk(board)
    desk.put(task)
    return desk.board()


def queue_merge(board: Board, task: Task, at: datetime) -> Board:
    """Behind all who wait to be merged."""
    queued = board.queued + 1
    board = update(board, task, status=Status.MERGING, note="", changed_at=at)
    return replace(board, queued=queued, merges=board.merges.plus((queued, task.id)))


def pin(board: Board, task: Task, *, on: bool) -> Board:
    pinned = board.pinned + 1
    return replace(update(board, task, pin=pinned if on else 0), pinned=pinned)


def order(board: Board, names: Sequence[str]) -> Board:
    """These in front of all others, the first of them first."""
    desk = _Desk(board)
    for pinned, name in enumerate(reversed(dict.fromkeys(names)), start=board.pinned + 1):
        desk.put(structs.replace(board[name], pin=pinned))
    return replace(desk.board(), pinned=board.pinned + len(names))


class _Desk:
    """Where a change is worked out: nodes and operations are taken from the board and put back."""

    def __init__(self, board: Board) -> None:
        self._before = board
        self._nodes: dict[str, Node] = {}
        self._operations: dict[str, Operation] = {}
        self._counts = dict(board.counts)
        self._upward = board.upward
        self._moved: dict[str, None] = {}  # tasks whose rank may be another now
        self._gone: dict[str, list[Rank]] = {}  # by operation: ranks that nobody has any more
        self._come: dict[str, list[Rank]] = {}

    def board(self) -> Board:
        for task in self._moved:
            self._rank(task)
        for name in {**self._gone, **self._come}:
            operation = self._operation(name)
            ready = operation.ready.changed(self._gone.get(name, ()), self._come.get(name, ()))
            self._operations[name] = replace(operation, ready=ready)
        front = self._before.front
        for name, operation in list(self._operations.items()):
            front = self._show(front, name, operation)
        return replace(
            self._before,
            nodes=self._before.nodes.plus(self._nodes),
            operations=self._before.operations.plus(self._operations),
            front=front,
            counts=self._counts,
            upward=self._upward,
        )

    def add(self, tasks: Sequence[Task]) -> None:
        """All at once, and each node made only once: a big board is read by little else."""
        new = {task.id: task for task in tasks}
        unmet: dict[str, int] = {}
        wanted_by: dict[str, list[str]] = {}
        wants: dict[str, int] = {}
        for task in tasks:
            more = int(task.status not in OVER)
            for need in task.needs:
                needed = new.get(need) or self._before[need]
                unmet[task.id] = unmet.get(task.id, 0) + (needed.status not in MET)
                wanted_by.setdefault(need, []).append(task.id)
                wants[need] = wants.get(need, 0) + more
        for task in tasks:
            wanting = wanted_by.pop(task.id, None)
            row = _NOBODY if wanting is None else Row.of(wanting)
            self._place(task, row, wants.get(task.id, 0), unmet.get(task.id, 0))
        for need, wanting in wanted_by.items():
            node = self._node(need)
            row = node.wanted_by.changed((), wanting)
            self._change(need, wanted_by=row, wants=node.wants + wants[need])
        for (status, operation), count in Counter((t.status, t.operation) for t in tasks).items():
            self._count(status, operation, count)

    def _place(self, task: Task, wanted_by: Row[str], wants: int, unmet: int) -> None:
        """Put a new task where it belongs."""
        rank = _rank_of(task, wants, unmet)
        place = None
        if rank is not None:
            place = (task.operation, rank)
            self._come.setdefault(task.operation, []).append(rank)
        self._nodes[task.id] = Node(task, wanted_by, wants, unmet, place)

    def put(self, task: Task) -> None:
        before = self._node(task.id).task
        self._count(before.status, before.operation, -1)
        self._count(task.status, task.operation, 1)
        if task.needs != before.needs:
            self._untie(before)
            self._tie(task)
            self._change(task.id, unmet=self._unmet(task))
            self._upward += self._younger_needs(task) - self._younger_needs(before)
        elif (task.status in OVER) is not (before.status in OVER):
            self._want(task.needs, -1 if task.status in OVER else 1)
        self._change(task.id, task=task)
        if (task.status in MET) is not (before.status in MET):
            self._meet(task.id, -1 if task.status in MET else 1)

    # --- how tasks hang together ---

    def _node(self, task: str) -> Node:
        return self._nodes.get(task) or self._before.nodes[task]

    def _change(self, task: str, /, **changes: object) -> None:
        self._nodes[task] = structs.replace(self._node(task), **changes)
        self._moved[task] = None

    def _unmet(self, task: Task) -> int:
        return len([need for need in task.needs if self._node(need).task.status not in MET])

    def _younger_needs(self, task: Task) -> int:
        return len([need for need in task.needs if self._node(need).task.number > task.number])

    def _tie(self, task: Task) -> None:
        more = int(task.status not in OVER)
        for need in task.needs:
            node = self._node(need)
            wanted_by = node.wanted_by.plus(task.id)
            self._change(need, wanted_by=wanted_by, wants=node.wants + more)

    def _untie(self, task: Task) -> None:
        less = int(task.status not in OVER)
        for need in task.needs:
            node = self._node(need)
            wanted_by = node.wanted_by.minus(task.id)
            self._change(need, wanted_by=wanted_by, wants=node.wants - less)

    def _want(self, needs: tuple[str, ...], more: int) -> None:
        for need in needs:
            self._change(need, wants=self._node(need).wants + more)

    def _meet(self, task: str, more: int) -> None:
        for waiting in self._node(task).wanted_by:
            self._change(waiting, unmet=self._node(waiting).unmet + more)

    # --- how many there are ---

    def _operation(self, name: str) -> Operation:
        return self._operations.get(name) or self._before.operations.get(name) or Operation()

    def _count(self, status: Status, name: str, more: int) -> None:
        self._counts[status] = self._counts.get(status, 0) + more
        if status is Status.CANCELLED:  # it was taken off the board: no child of anything
            return
        operation = self._operation(name)
        self._operations[name] = replace(
            operation,
            total=operation.total + more,
            done=operation.done + (more if status is Status.DONE else 0),
        )

    # --- who is first ---

    def _rank(self, task: str) -> None:
        node = self._node(task)
        rank = _rank_of(node.task, node.wants, node.unmet)
        place = None if rank is None else (node.task.operation, rank)
        if place == node.place:
            return
        if node.place is not None:
            name, before = node.place
            self._gone.setdefault(name, []).append(before)
        if place is not None:
            name, after = place
            self._come.setdefault(name, []).append(after)
        self._nodes[task] = replace(node, place=place)

    def _show(self, front: _Front, name: str, operation: Operation) -> _Front:
        """Keep the best of an operation where it belongs among the best of all."""
        first = operation.ready.first
        rank = None if first is None else _raised(first, _bonus(operation, name))
        if rank == operation.front:
            return front
        self._operations[name] = replace(operation, front=rank)
        if operation.front is not None:
            front = front.minus((operation.front, name))
        return front if rank is None else front.plus((rank, name))


def _rank_of(task: Task, wants: int, unmet: int) -> Rank | None:
    if unmet or task.status is not Status.PENDING or task.held:
        return None
    total = UNBLOCKS * wants + RETRY * task.retries
    if task.tags:
        total += CRITICAL * ("critical" in task.tags) + QUICK_WIN * ("quick-win" in task.tags)
    return (not task.assigned, -task.pin, -total, -task.priority, task.number, task.id)


def _raised(rank: Rank, bonus: int) -> Rank:
    return (*rank[:2], rank[2] - bonus, *rank[3:])
