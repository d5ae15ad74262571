"""The file sprints.jsonl: a line for each ended sprint, computed from the board's record."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from allstop.adapters.projection_file import replace_if_changed, sole_writer
from allstop.core.ids import BOARD
from allstop.views.sprints import stats_of

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.board.state import BoardState

FILE_NAME = "sprints.jsonl"


def content(state: BoardState) -> bytes:
    """The oldest first."""
    lines = (msgspec.json.encode(stats_of(sprint)) + b"\n" for sprint in state.sprints)
    return b"".join(lines)


async def write_sprints(project: Project, state: BoardState, seq: int) -> bool:
    """Make the file what `state` says, after the board's event `seq`; False if there are newer ones.

    A disk that can't be written costs only the file: a later look at the sprints writes it again.
    """
    path = project.folder / FILE_NAME
    if not (state.sprints or path.exists()):
        return True
    with suppress(OSError), sole_writer(path):
        if await project.records.read(BOARD, after=seq):
            return False
        replace_if_changed(path, content(state))
    return True
