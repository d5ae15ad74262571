"""The command `plan`: checks a plan's file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.output import USAGE, Context, json_option, print_json
from allstop.core.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allstop.plans.plan import Plan, PlanReading

FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
SHOWN = 50
"""So many problems are listed."""


@click.group()
def plan() -> None:
    """Check a plan: phases of steps that an agent does in order."""


@plan.command()
@click.argument("file", type=FILE)
@json_option
@click.pass_obj
def check(context: Context, file: Path, as_json: bool) -> int:
    """Print what a plan's file says, and everything that is wrong with it.

    FILE is Markdown, JSON or YAML. In Markdown, headings are phases and list items are steps.
    Problems are listed with their line; the exit code is then 2.

    \b
    Examples:
      allstop plan check PLAN.md
    """
    found = read_file(file)
    if as_json:
        problems = [
            {"line": each.line, "problem": each.problem, "expected": each.expected}
            for each in found.problems
        ]
        print_json({"plan": found.plan, "problems": problems})
    else:
        for line in plan_lines(found.plan):
            click.echo(line)
        for line in problem_lines(file, found):
            click.echo(line, err=True)
    return USAGE if found.problems else 0


def read_file(file: Path) -> PlanReading:
    from allstop.plans.plan_file import LARGEST_BYTES, read_plan

    with click.open_file(str(file), "rb") as stream:
        return read_plan(file.name, stream.read(LARGEST_BYTES + 1))


def plan_lines(plan: Plan) -> Iterator[str]:
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


def problem_lines(file: Path, found: PlanReading) -> Iterator[str]:
    for each in found.problems[:SHOWN]:
        yield f"{file}:{each.line}: {each}"
    if len(found.problems) > SHOWN:
        yield f"… and {counted(len(found.problems) - SHOWN, 'more problem')}"
