"""Which commands a person can give about a task now, the most useful first."""

from __future__ import annotations

from allstop.board.remedy_hints import remedies
from allstop.core.tasks import STALLED, Status, Task

_NAMES = {"edit": "edit_task"}
"""The HTTP names of remedies where they differ."""

_BY_STATUS = {
    Status.PENDING: ("assign", "pin", "edit_task", "split", "skip", "remove_task"),
    Status.ACTIVE: ("say", "comment"),
    Status.REVIEW: ("approve", "redo", "reject", "comment"),
    Status.DONE: ("rollback",),
    Status.SKIPPED: ("rollback", "edit_task", "remove_task"),
    Status.CANCELLED: ("retry", "edit_task"),
}


def task_actions(task: Task, *, waits: bool) -> tuple[str, ...]:
    """The names of the commands, as HTTP takes them. Those of its run are not among them.

    `waits` says that tasks which it needs are not done.
    """
    if task.asks:
        return ("answer", "comment")
    if task.status is Status.DONE and not (task.merged or task.attempts):
        return ()  # it was imported as done: there is no work to revert
    helpful = remedies(task)
    if not helpful:
        actions = _BY_STATUS.get(task.status, ())
        return tuple(each for each in actions if each != "assign" or not waits)
    named = tuple(_NAMES.get(each, each) for each in helpful)
    return (
        *named,
        "clean",
        "remove_task",
        *(() if "limit" in helpful else ("limit",)),
        *(("comment",) if task.status in STALLED else ("pin",)),
    )
