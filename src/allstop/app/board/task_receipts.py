"""The receipt of a task's verified tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import convert

from allstop.app.board import commands
from allstop.app.gate_receipts import receipt_files
from allstop.core.board_specs import MergeSpec
from allstop.core.errors import AllstopError
from allstop.core.events import MoveEnded, Opened
from allstop.core.ids import RunId
from allstop.core.moves import ChecksDone
from allstop.gate.receipt import GateReceipt

if TYPE_CHECKING:
    from allstop.app.project import Project

SEARCHED_MERGES = 50
"""The latest merges among which the one of a task is searched."""


async def receipt_of_task(project: Project, task_id: str) -> GateReceipt:
    """The receipt of the tree that the gate saw last: that of the merge, or of the attempt.

    Raises AllstopError if no check has run, or the file is gone or was changed.
    """
    task = await commands.find_task(project, task_id)
    attempts = [RunId(attempt.run) for attempt in task.attempts]
    found = None
    for run in (*attempts[-1:], *await _merges_of(project, task.id)):
        for record in await project.journal.read(run):
            match record.event:
                case MoveEnded(result=ChecksDone(receipt=digest)) if digest:
                    found = receipt_files(project).read(digest) or found
    if found is None:
        hint = "the gate writes one for each tree on which it runs checks"
        raise AllstopError(f"{task.id} has no receipt", hint, code="receipt_missing")
    return found


async def _merges_of(project: Project, task: str) -> list[RunId]:
    """The merge run that its work was part of; another change may have given it its name."""
    heads = [head for head in await project.journal.heads() if head.kind == "merge"]
    for head in reversed(heads[-SEARCHED_MERGES:]):
        opened = (await project.journal.read(head.run))[0].event
        if isinstance(opened, Opened):
            spec = convert(opened.spec, MergeSpec)
            if task in (spec.task, *(each.task for each in spec.others)):
                return [head.run]
    return []
