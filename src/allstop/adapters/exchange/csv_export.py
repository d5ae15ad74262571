"""Writes tasks as CSV for spreadsheets, one row per task."""

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
        _not_a_formula(task.id),
        _not_a_formula(task.title),
        task.status,
        _not_a_formula(task.operation),
        ", ".join(task.needs),
        _not_a_formula(", ".join(task.tags)),
        str(task.priority),
        _not_a_formula(task.agent or ""),
        "" if task.iterations is None else str(task.iterations),
        "" if task.minutes is None else str(task.minutes).removesuffix(".0"),
        "" if task.stuck_after is None else str(task.stuck_after),
        _not_a_formula(task.source),
        _not_a_formula(task.body),
    ]


def _not_a_formula(text: str) -> str:
    """Keep spreadsheets from running a text as a formula: titles may come from strangers."""
    return f"'{text}" if text.startswith(_FORMULA) else text
