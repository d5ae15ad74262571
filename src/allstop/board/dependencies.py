"""How one task of a board needs another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from allstop.board.graph import Board
from allstop.core.tasks import Status, Task


def path_between(board: Board, start: str, end: str) -> list[str] | None:
    """How `start` needs `end`, step by step; None where it doesn't.

    It is looked for from both ends, step by step, until one of them leads to nothing more: many
    may need a task that needs few. Where every task is younger than all that it needs, only those
    between the two in age are looked at.
    """
    nodes = board.nodes
    oldest = 0 if board.upward else nodes[end].task.number
    youngest = board.added if board.upward else nodes[start].task.number

    def needs(task: str) -> Iterator[str]:
        return (need for need in nodes[task].task.needs if nodes[need].task.number >= oldest)

    def wanted_by(task: str) -> Iterator[str]:
        return (by for by in nodes[task].wanted_by if nodes[by].task.number <= youngest)

    before, after = {start: ""}, {end: ""}  # of what was reached: the step on the way from and to
    down = _reached(start, needs, before)
    up = _reached(end, wanted_by, after)
    for one, other in zip(down, up, strict=False):
        for met in (one, other):
            if met in before and met in after:
                return [*reversed(_trail(met, before)), *_trail(met, after)[1:]]
    return None


def barred(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """The tasks that were given up although others wait for them, and which do: these never start."""
    known = {task.id: task for task in tasks}
    found: dict[str, list[str]] = {}
    for task in known.values():
        for need in task.needs if task.status is Status.PENDING else ():
            if need in known and known[need].status is Status.CANCELLED:
                found.setdefault(need, []).append(task.id)
    return found


def _reached(
    origin: str, nexts: Callable[[str], Iterable[str]], steps: dict[str, str]
) -> Iterator[str]:
    """The origin and all that it leads to, with the step before each in `steps`."""
    yield origin
    waiting = [origin]
    while waiting:
        here = waiting.pop()
        for there in nexts(here):
            if there not in steps:
                steps[there] = here
                waiting.append(there)
                yield there


def _trail(task: str, steps: dict[str, str]) -> list[str]:
    trail = [task]
    while task := steps[task]:
        trail.append(task)
    return trail
