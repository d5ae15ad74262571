"""Writes tasks as CSV for spreadsheets, one row per task."""

import csv
import io
from collections.abc import Sequence

from allstop.adapters.exchange.allstop_export import KEYS
from allstop.core.tasks import Task
from allstop.core.text import plain

NAME = "csv"
_COLUMNS = (*(key for key in KEYS if key != "body"), "body")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(tasks: Sequence[Task]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    rows.writerows([_cell(getattr(task, column)) for column in _COLUMNS] for task in tasks)
    return text.getvalue()


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return _not_a_formula(plain(value))
        case tuple():
            return _not_a_formula(plain(", ".join(value)))
        case _:
            return str(value).removesuffix(".0")


def _not_a_formula(text: str) -> str:
    """Keep spreadsheets from running a text as a formula: titles may come from strangers."""
    return f"'{text}" if text.startswith(_FORMULA) else text
