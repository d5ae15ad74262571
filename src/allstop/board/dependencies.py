"""Dependencies between tasks of a board: paths, and cancelled tasks that others need."""

from collections.abc import Callable, Iterable, Iterator

from allstop.board.graph import Board
from allstop.core.tasks import Status, Task


def path_between(board: Board, start: str, end: str) -> list[str] | None:
    """The path on which `start` needs `end`; None if it doesn't.

    The search runs from both ends until one is exhausted, because many tasks may need a task that
    needs few. If each task is younger than its needs, only tasks between the two in age matter.
    """
    nodes = board.nodes
    oldest = 0 if board.needs_younger else nodes[end].task.number
    youngest = board.added if board.needs_younger else nodes[start].task.number

    def needs(task: str) -> Iterator[str]:
        return (need for need in nodes[task].task.needs if nodes[need].task.number >= oldest)

    def needed_by(task: str) -> Iterator[str]:
        return (by for by in nodes[task].needed_by if nodes[by].task.number <= youngest)

    before, after = {start: ""}, {end: ""}  # for each task reached: the previous task on the path
    down = _walk(start, needs, before)
    up = _walk(end, needed_by, after)
    for one, other in zip(down, up, strict=False):
        for met in (one, other):
            if met in before and met in after:
                return [*reversed(_path_to(met, before)), *_path_to(met, after)[1:]]
    return None


def cancelled_needs(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """Cancelled tasks, each with the pending tasks that need it and so never start."""
    known = {task.id: task for task in tasks}
    found: dict[str, list[str]] = {}
    for task in known.values():
        for need in task.needs if task.status is Status.PENDING else ():
            if need in known and known[need].status is Status.CANCELLED:
                found.setdefault(need, []).append(task.id)
    return found


def _walk(
    origin: str, nexts: Callable[[str], Iterable[str]], steps: dict[str, str]
) -> Iterator[str]:
    """Yield the origin and all tasks it leads to; `steps` maps each to the one before it."""
    yield origin
    waiting = [origin]
    while waiting:
        here = waiting.pop()
        for there in nexts(here):
            if there not in steps:
                steps[there] = here
                waiting.append(there)
                yield there


def _path_to(task: str, steps: dict[str, str]) -> list[str]:
    trail = [task]
    while task := steps[task]:
        trail.append(task)
    return trail
