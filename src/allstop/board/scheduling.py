"""Chooses which ready task of a board starts next."""

import itertools
from collections.abc import Callable, Collection, Iterator

from allstop.board import graph
from allstop.board.graph import Board
from allstop.core.tasks import Task

MAX_CANDIDATES = 200
"""How many ready tasks are searched for one with a free agent."""


def best(board: Board, is_free: Callable[[Task], bool] | None) -> Task | None:
    """The best ready task, or the best one with a free agent if `is_free` is given."""
    if is_free is None:
        return graph.best(board)
    return next(filter(is_free, itertools.islice(graph.ready(board), MAX_CANDIDATES)), None)


def best_chosen(
    board: Board, retried: Collection[str], is_free: Callable[[Task], bool] | None
) -> Task | None:
    """The best ready task among those that people chose: assigned ones, then retried ones."""
    chosen = _chosen(board, retried)
    return next((task for task in chosen if is_free is None or is_free(task)), None)


def _chosen(board: Board, retried: Collection[str]) -> Iterator[Task]:
    yield from itertools.takewhile(lambda task: task.assigned, graph.ready(board))
    ranks = {name: graph.rank(board, name) for name in retried if name in board.nodes}
    ready = sorted((rank, name) for name, rank in ranks.items() if rank is not None)
    yield from (board[name] for _, name in ready)
