"""The task graph of a board: tasks, their dependencies, and their order by score."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice, takewhile
from typing import TypeAlias

from msgspec import UNSET, Struct, structs
from msgspec.structs import replace

from allstop.board.persistent import PersistentMap, SortedSet
from allstop.core.board_specs import ALL_TASKS, Filters
from allstop.core.tasks import MET, OVER, Changes, NewTask, Status, Task

UNBLOCKS, CRITICAL, QUICK_WIN, NEARLY_DONE, RETRY = 10, 50, 30, 20, -15

Rank: TypeAlias = tuple[bool, bool, int, int, int, int, str]
"""The sort key of a ready task, best first: assigned, favored, pin, score, priority, age, id."""


_Front: TypeAlias = "SortedSet[tuple[Rank, str]]"
_NO_TASKS: SortedSet[str] = SortedSet()


class Node(Struct, frozen=True, gc=False):
    """A task with its links to other tasks."""

    task: Task
    needed_by: SortedSet[str] = _NO_TASKS  # the tasks that need this one
    open_dependents: int = 0  # how many of them are not over
    unmet_needs: int = 0  # how many of its needs are not met
    position: tuple[str, Rank] | None = None  # while it is ready: its operation and rank


class Operation(Struct, frozen=True, gc=False):
    """A group of tasks; the unnamed one holds the tasks without an operation."""

    total: int = 0
    done: int = 0
    ready: SortedSet[Rank] = SortedSet()
    front: Rank | None = None  # of its best task, among all operations

    @property
    def bonus(self) -> int:
        return NEARLY_DONE if self.done * 2 > self.total else 0


class Score(Struct, frozen=True, kw_only=True):
    """The parts of a task's score."""

    total: int
    unblocks: int = 0
    critical: int = 0
    quick_win: int = 0
    nearly_done: int = 0
    retries: int = 0


class Board(Struct, frozen=True, gc=False, kw_only=True):
    nodes: PersistentMap[str, Node] = PersistentMap()
    operations: PersistentMap[str, Operation] = PersistentMap()
    front: _Front = SortedSet()  # the best ready task of each operation
    merges: SortedSet[tuple[int, str]] = SortedSet()  # the merge queue: number and task
    sources: PersistentMap[str, str] = PersistentMap()  # imported sources, each with its task
    counts: dict[Status, int] = {}
    added: int = 0
    pinned: int = 0
    queued: int = 0
    favors: Filters = ALL_TASKS  # ready tasks that these filters take come before all others
    needs_younger: int = 0  # needs younger than the task that needs them; only edits create such

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


# --- queries ----------------------------------------------------------------------------------


def best(board: Board) -> Task | None:
    """The ready task to start next."""
    first = board.front.first
    return None if first is None else board[first[0][-1]]


def ready(board: Board) -> Iterator[Task]:
    """All ready tasks, best first."""
    while (task := best(board)) is not None:
        yield task
        board = update(board, task, status=Status.ACTIVE)


def count_favored(board: Board, most: int) -> int:
    """How many ready tasks the board's filters take, counted up to `most`."""
    favored = (
        rank
        for operation in board.operations.values()
        for rank in takewhile(lambda rank: not (rank[0] and rank[1]), operation.ready)
        if not rank[1]
    )
    return sum(1 for _ in islice(favored, most))


def score(board: Board, task: Task) -> Score:
    node = board.nodes[task.id]
    parts = _parts(task, node.open_dependents)
    bonus = _bonus(board.operations.get(task.operation), task.operation)
    return Score(total=sum(parts.values()) + bonus, nearly_done=bonus, **parts)


def rank(board: Board, task: str) -> Rank | None:
    """The rank of a task among all ready ones; None if it is not ready."""
    position = board.nodes[task].position
    return (
        None
        if position is None
        else _with_bonus(position[1], _bonus(board.operations[position[0]], position[0]))
    )


def waits_for(board: Board, task: Task) -> list[Task]:
    """The needs of a task that are not met."""
    needs = (board[need] for need in task.needs)
    return [need for need in needs if need.status not in MET]


def _parts(task: Task, open_dependents: int) -> dict[str, int]:
    return {
        "unblocks": UNBLOCKS * open_dependents,
        "critical": CRITICAL if "critical" in task.tags else 0,
        "quick_win": QUICK_WIN if "quick-win" in task.tags else 0,
        "retries": RETRY * task.retries,
    }


def _bonus(operation: Operation | None, name: str) -> int:
    return operation.bonus if operation is not None and name else 0


# --- changes ----------------------------------------------------------------------------------


def add(board: Board, new: Sequence[NewTask], at: datetime) -> Board:
    """Add tasks; each must come after the tasks it needs."""
    return add_all(board, [(each, at) for each in new])


def add_all(board: Board, new: Sequence[tuple[NewTask, datetime]]) -> Board:
    """Add tasks with their times; each must come after the tasks it needs."""
    change = _BoardChange(board)
    numbered = enumerate(new, start=board.added + 1)
    change.add([_new_task(each, number, at) for number, (each, at) in numbered])
    sources = board.sources.plus({each.source: each.id for each, _ in new if each.source})
    return replace(change.board(), added=board.added + len(new), sources=sources)


def _new_task(new: NewTask, number: int, at: datetime) -> Task:
    return Task(
        id=new.id,
        title=new.title,
        number=number,
        body=new.body,
        status=Status.DONE if new.done else Status.PENDING,
        operation=new.operation,
        needs=_unique(new.needs),
        tags=new.tags,
        priority=new.priority,
        agent=new.agent,
        iterations=new.iterations,
        minutes=new.minutes,
        stuck_after=new.stuck_after,
        may_change=new.may_change,
        labels=_unique(new.labels),
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
        given["needs"] = _unique(changes.needs)
    return update(board, task, **given)


def _unique(needs: tuple[str, ...]) -> tuple[str, ...]:
    """Without duplicates."""
    return needs if len(needs) < 2 else tuple(dict.fromkeys(needs))


def update(board: Board, task: Task, **changes: object) -> Board:
    """Replace some fields of a task."""
    return put(board, structs.replace(task, **changes))


def put(board: Board, task: Task) -> Board:
    change = _BoardChange(board)
    change.put(task)
    return change.board()


def queue_merge(board: Board, task: Task, at: datetime) -> Board:
    """Append a task to the merge queue."""
    queued = board.queued + 1
    board = update(board, task, status=Status.MERGING, note="", changed_at=at)
    return replace(board, queued=queued, merges=board.merges.plus((queued, task.id)))


def pin(board: Board, task: Task, *, on: bool) -> Board:
    pinned = board.pinned + 1
    return replace(update(board, task, pin=pinned if on else 0), pinned=pinned)


def order(board: Board, names: Sequence[str]) -> Board:
    """Pin these tasks before all others, in the given order."""
    change = _BoardChange(board)
    for pinned, name in enumerate(reversed(dict.fromkeys(names)), start=board.pinned + 1):
        change.put(structs.replace(board[name], pin=pinned))
    return replace(change.board(), pinned=board.pinned + len(names))


def favor(board: Board, filters: Filters) -> Board:
    """Put the ready tasks that the filters take before all others."""
    if filters == board.favors:
        return board
    change = _BoardChange(replace(board, favors=filters))
    change.rank_again(node.task.id for node in board.nodes.values() if node.position is not None)
    return change.board()


class _BoardChange:
    """Collects changed nodes and operations, and builds the changed board from them."""

    def __init__(self, board: Board) -> None:
        self._before = board
        self._nodes: dict[str, Node] = {}
        self._operations: dict[str, Operation] = {}
        self._counts = dict(board.counts)
        self._needs_younger = board.needs_younger
        self._reranked: dict[str, None] = {}  # tasks whose rank may have changed
        self._removed: dict[str, list[Rank]] = {}  # by operation: ranks to remove
        self._added: dict[str, list[Rank]] = {}

    def board(self) -> Board:
        for task in self._reranked:
            self._rank(task)
        for name in {**self._removed, **self._added}:
            operation = self._operation(name)
            ready = operation.ready.changed(self._removed.get(name, ()), self._added.get(name, ()))
            self._operations[name] = replace(operation, ready=ready)
        front = self._before.front
        for name, operation in list(self._operations.items()):
            front = self._update_front(front, name, operation)
        return replace(
            self._before,
            nodes=self._before.nodes.plus(self._nodes),
            operations=self._before.operations.plus(self._operations),
            front=front,
            counts=self._counts,
            needs_younger=self._needs_younger,
        )

    def rank_again(self, tasks: Iterable[str]) -> None:
        self._reranked.update(dict.fromkeys(tasks))

    def add(self, tasks: Sequence[Task]) -> None:
        """Add all tasks in one pass with one node each: loading a big board is mostly this."""
        new = {task.id: task for task in tasks}
        unmet_needs: dict[str, int] = {}
        needed_by: dict[str, list[str]] = {}
        open_dependents: dict[str, int] = {}
        for task in tasks:
            more = int(task.status not in OVER)
            for need in task.needs:
                needed = new.get(need) or self._before[need]
                unmet_needs[task.id] = unmet_needs.get(task.id, 0) + (needed.status not in MET)
                needed_by.setdefault(need, []).append(task.id)
                open_dependents[need] = open_dependents.get(need, 0) + more
        for task in tasks:
            names = needed_by.pop(task.id, None)
            dependents = _NO_TASKS if names is None else SortedSet.of(names)
            self._insert(
                task, dependents, open_dependents.get(task.id, 0), unmet_needs.get(task.id, 0)
            )
        for need, names in needed_by.items():
            node = self._node(need)
            dependents = node.needed_by.changed((), names)
            self._change(
                need,
                needed_by=dependents,
                open_dependents=node.open_dependents + open_dependents[need],
            )
        for (status, operation), count in Counter((t.status, t.operation) for t in tasks).items():
            self._count(status, operation, count)

    def _insert(
        self, task: Task, needed_by: SortedSet[str], open_dependents: int, unmet_needs: int
    ) -> None:
        rank = _rank_of(task, open_dependents, unmet_needs, self._before.favors)
        position = None
        if rank is not None:
            position = (task.operation, rank)
            self._added.setdefault(task.operation, []).append(rank)
        self._nodes[task.id] = Node(task, needed_by, open_dependents, unmet_needs, position)

    def put(self, task: Task) -> None:
        before = self._node(task.id).task
        self._count(before.status, before.operation, -1)
        self._count(task.status, task.operation, 1)
        if task.needs != before.needs:
            self._unlink(before)
            self._link(task)
            self._change(task.id, unmet_needs=self._unmet(task))
            self._needs_younger += self._younger_needs(task) - self._younger_needs(before)
        elif (task.status in OVER) is not (before.status in OVER):
            self._count_dependents(task.needs, -1 if task.status in OVER else 1)
        self._change(task.id, task=task)
        if (task.status in MET) is not (before.status in MET):
            self._count_unmet(task.id, -1 if task.status in MET else 1)

    # --- dependencies ---

    def _node(self, task: str) -> Node:
        return self._nodes.get(task) or self._before.nodes[task]

    def _change(self, task: str, /, **changes: object) -> None:
        self._nodes[task] = structs.replace(self._node(task), **changes)
        self._reranked[task] = None

    def _unmet(self, task: Task) -> int:
        return len([need for need in task.needs if self._node(need).task.status not in MET])

    def _younger_needs(self, task: Task) -> int:
        return len([need for need in task.needs if self._node(need).task.number > task.number])

    def _link(self, task: Task) -> None:
        more = int(task.status not in OVER)
        for need in task.needs:
            node = self._node(need)
            needed_by = node.needed_by.plus(task.id)
            self._change(need, needed_by=needed_by, open_dependents=node.open_dependents + more)

    def _unlink(self, task: Task) -> None:
        less = int(task.status not in OVER)
        for need in task.needs:
            node = self._node(need)
            needed_by = node.needed_by.minus(task.id)
            self._change(need, needed_by=needed_by, open_dependents=node.open_dependents - less)

    def _count_dependents(self, needs: tuple[str, ...], more: int) -> None:
        for need in needs:
            self._change(need, open_dependents=self._node(need).open_dependents + more)

    def _count_unmet(self, task: str, more: int) -> None:
        for waiting in self._node(task).needed_by:
            self._change(waiting, unmet_needs=self._node(waiting).unmet_needs + more)

    # --- counts ---

    def _operation(self, name: str) -> Operation:
        return self._operations.get(name) or self._before.operations.get(name) or Operation()

    def _count(self, status: Status, name: str, more: int) -> None:
        self._counts[status] = self._counts.get(status, 0) + more
        if status is Status.CANCELLED:  # cancelled tasks don't count for their operation
            return
        operation = self._operation(name)
        self._operations[name] = replace(
            operation,
            total=operation.total + more,
            done=operation.done + (more if status is Status.DONE else 0),
        )

    # --- ranks ---

    def _rank(self, task: str) -> None:
        node = self._node(task)
        favors = self._before.favors
        rank = _rank_of(node.task, node.open_dependents, node.unmet_needs, favors)
        position = None if rank is None else (node.task.operation, rank)
        if position == node.position:
            return
        if node.position is not None:
            name, before = node.position
            self._removed.setdefault(name, []).append(before)
        if position is not None:
            name, after = position
            self._added.setdefault(name, []).append(after)
        self._nodes[task] = replace(node, position=position)

    def _update_front(self, front: _Front, name: str, operation: Operation) -> _Front:
        """Update the rank of an operation's best task among those of all operations."""
        first = operation.ready.first
        rank = None if first is None else _with_bonus(first, _bonus(operation, name))
        if rank == operation.front:
            return front
        self._operations[name] = replace(operation, front=rank)
        if operation.front is not None:
            front = front.minus((operation.front, name))
        return front if rank is None else front.plus((rank, name))


def _rank_of(task: Task, open_dependents: int, unmet_needs: int, favors: Filters) -> Rank | None:
    if unmet_needs or task.status is not Status.PENDING or task.held:
        return None
    total = UNBLOCKS * open_dependents + RETRY * task.retries
    if task.tags:
        total += CRITICAL * ("critical" in task.tags) + QUICK_WIN * ("quick-win" in task.tags)
    is_favored = favors is ALL_TASKS or favors.takes(task.operation, task.tags)
    age = task.number
    return (not task.assigned, not is_favored, -task.pin, -total, -task.priority, age, task.id)


def _with_bonus(rank: Rank, bonus: int) -> Rank:
    return (*rank[:3], rank[3] - bonus, *rank[4:])
