"""Which of a board's ready tasks is started next."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator

from allstop.board import graph
from allstop.board.graph import Board
from allstop.core.tasks import Task

LOOKED_AT = 200
"""So many ready tasks are looked at for one whose agent is free, while others must wait."""


def best(board: Board, is_free: Callable[[Task], bool] | None) -> Task | None:
    """Of all; of those for which somebody is free who could do it, where not everybody is."""
    if is_free is None:
        return graph.best(board)
    return next(filter(is_free, itertools.islice(graph.ready(board), LOOKED_AT)), None)


def best_chosen(
    board: Board, retried: Collection[str], is_free: Callable[[Task], bool] | None
) -> Task | None:
    """Of those only that people chose: assigned ones, then those they want to be tried again."""
    chosen = _chosen(board, retried)
    return next((task for task in chosen if is_free is None or is_free(task)), None)


def _chosen(board: Board, retried: Collection[str]) -> Iterator[Task]:
    yield from itertools.takewhile(lambda task: task.assigned, graph.ready(board))
    ranks = {name: graph.rank(board, name) for name in retried if name in board.nodes}
    ready = sorted((rank, name) for name, rank in ranks.items() if rank is not None)
    yield from (board[name] for _, name in ready)
