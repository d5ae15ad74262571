"""Types for the ids of runs, moves, agents and writes."""

from collections.abc import Iterator
from typing import NewType

RunId = NewType("RunId", str)
MoveId = NewType("MoveId", int)
AgentName = NewType("AgentName", str)
WriteId = NewType("WriteId", str)
"""Chosen by the writer, so that it can repeat a write whose answer was lost."""

HELM = RunId("helm")
"""The run that holds Allstop for all the others."""

ACCOUNTS = RunId("accounts")
"""The stream of the holds and windows of accounts, which all runs and processes share."""

STREAMS = (HELM, ACCOUNTS)
"""Records that are no runs: nothing drives them."""

BOARD = RunId("board")
"""The run of a repository's board."""


def child_of(parent: RunId, ref: str) -> RunId:
    return RunId(f"{parent}/{ref}")


def label_of(run: RunId) -> str:
    """The name people know the run by: the task's id for a run of the board."""
    return run.partition("/")[2].rpartition(".")[0] or run


def root_of(run: RunId) -> RunId:
    """The topmost ancestor. The process that drives it also drives all runs below it."""
    return RunId(run.partition("/")[0])


def with_ancestors(run: RunId) -> Iterator[RunId]:
    """The run and those above it, the nearest first."""
    while run:
        yield run
        run = RunId(run.rpartition("/")[0])
