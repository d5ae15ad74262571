"""Prints a plan and its problems, and reads and writes its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.output import echo
from allstop.core.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allstop.plans.plan import Plan, Problem

SHOWN = 50
"""So many problems are listed."""


def read_file(file: Path) -> bytes:
    from allstop.plans.plan_file import LARGEST_BYTES

    with click.open_file(str(file), "rb") as stream:
        data: bytes = stream.read(LARGEST_BYTES + 1)
        return data


OTHER_FILE = "name another file with --out"


def refuse_to_overwrite(file: Path, hint: str = OTHER_FILE) -> None:
    from allstop.core.errors import AllstopError

    if file.exists():
        raise AllstopError(f"{file} exists already", hint, code="file_exists")
    if not file.parent.is_dir():
        raise AllstopError(f"there is no folder {file.parent}", hint, code="folder_not_found")


def write_file(file: Path, text: str, hint: str = OTHER_FILE) -> None:
    from allstop.core.errors import AllstopError

    try:
        file.write_bytes(text.encode())
    except OSError as error:
        message = f"{file} can't be written: {error.strerror}"
        raise AllstopError(message, hint, code="file_not_written") from error


def problem_rows(problems: Sequence[Problem]) -> list[dict[str, object]]:
    """The problems for JSON."""
    return [
        {"line": each.line, "problem": each.problem, "expected": each.expected} for each in problems
    ]


def show_plan(file: Path, plan: Plan, problems: Sequence[Problem]) -> None:
    for line in _plan_lines(plan):
        echo(line)
    for line in shown(f"{file}:{each.line}: {each}" for each in problems):
        echo(line, err=True)


def _plan_lines(plan: Plan) -> Iterator[str]:
    """The plan as it was understood."""
    if plan.title:
        yield one_line(plan.title, 200)
    for phase in plan.phases:
        yield f"{one_line(phase.name, 200) or '(no name)'}"
        for step in phase.steps:
            done = "  (done)" if step.done else ""
            yield f"  {step.id}  {one_line(step.title, 200)}{done}"
            for criterion in step.criteria:
                yield f"      [ ] {one_line(criterion, 200)}"
            if step.check:
                yield f"      check: {one_line(step.check, 200)}"
    count = sum(len(phase.steps) for phase in plan.phases)
    yield f"{counted(len(plan.phases), 'phase')}, {counted(count, 'step')}."


def shown(lines: Iterator[str]) -> Iterator[str]:
    """The first lines, and how many follow."""
    all_ = [*lines]
    yield from all_[:SHOWN]
    if len(all_) > SHOWN:
        yield f"… and {counted(len(all_) - SHOWN, 'more line')}"
