"""Names for the strings and numbers that identify things."""

from __future__ import annotations

from typing import NewType

RunId = NewType("RunId", str)
MoveId = NewType("MoveId", int)
AgentName = NewType("AgentName", str)
WriteId = NewType("WriteId", str)
"""Made by the writer, so that a write whose answer was lost can be repeated."""

HELM = RunId("helm")
"""The run that holds Allstop for all the others."""

BOARD = RunId("board")
"""The run of a repository's board."""


def child_of(parent: RunId, ref: str) -> RunId:
    return RunId(f"{parent}/{ref}")


def label_of(run: RunId) -> str:
    """What people call it: a task of the board by its own name."""
    return run.partition("/")[2].rpartition(".")[0] or run


def root_of(run: RunId) -> RunId:
    """The run at the top: whoever may drive it may drive everything below it."""
    return RunId(run.partition("/")[0])
