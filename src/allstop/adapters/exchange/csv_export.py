"""CSV for spreadsheets: one row a task; it is written, not read."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from allstop.core.tasks import Task

NAME = "csv"
_COLUMNS = (
    "id",
    "title",
    "status",
    "operation",
    "needs",
    "tags",
    "priority",
    "agent",
    "iterations",
    "minutes",
    "stuck_after",
    "source",
    "body",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(tasks: Sequence[Task]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    rows.writerows(_row(task) for task in tasks)
    return text.getvalue()


def _row(task: Task) -> list[str]:
    return [
        _harmless(task.id),
        _harmless(task.title),
        task.status,
        _harmless(task.operation),
        ", ".join(task.needs),
        _harmless(", ".join(task.tags)),
        str(task.priority),
        _harmless(task.agent or ""),
        "" if task.iterations is None else str(task.iterations),
        "" if task.minutes is None else str(task.minutes).removesuffix(".0"),
        "" if task.stuck_after is None else str(task.stuck_after),
        _harmless(task.source),
        _harmless(task.body),
    ]


def _harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula: titles come from strangers too."""
    return f"'{text}" if text.startswith(_FORMULA) else text
