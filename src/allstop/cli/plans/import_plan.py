"""The command `plan import`: converts a plan of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.output import USAGE, Context, echo, json_option, print_json
from allstop.cli.plans.plan_lines import (
    problem_rows,
    read_file,
    refuse_to_overwrite,
    show_plan,
    shown,
    write_file,
)
from allstop.core.text import one_line

if TYPE_CHECKING:
    from allstop.adapters.exchange.plan_import import ImportedPlan

FORMAT = click.Choice(["ralphex", "spec-kit", "kiro", "task-master", "prd"])
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
OUT = click.Path(dir_okay=False, path_type=Path)


@click.command("import")
@click.argument("file", type=FILE)
@click.option("--format", "kind", type=FORMAT, help="The tool; by default it is detected.")
@click.option("--out", type=OUT, default="PLAN.md", show_default=True, help="The file to write.")
@json_option
@click.pass_obj
def import_(context: Context, file: Path, kind: str | None, out: Path, as_json: bool) -> int:
    """Convert a plan of another tool to a plan's file.

    FILE is a plan of ralphex, a tasks.md of spec-kit or Kiro, a tasks.json of task-master, or a
    prd.json. What is left out is listed with its line. Nothing runs: look at the new file, then
    start it with `plan run`.

    \b
    Examples:
      allstop plan import specs/001-login/tasks.md
      allstop plan import .taskmaster/tasks/tasks.json --out login.md
    """
    from allstop.plans.plan_text import written

    refuse_to_overwrite(out)
    found = read_foreign(file, kind)
    code = show_imported(file, found, as_json=as_json)
    if code == 0:
        write_file(out, written(found.plan))
        if not as_json:
            echo(f"{out} is written. Look at it, then: allstop plan run {out}")
    return code


def read_foreign(file: Path, kind: str | None) -> ImportedPlan:
    from allstop.adapters.exchange.plan_formats import read_foreign_plan

    return read_foreign_plan(file.name, read_file(file), kind)


def show_imported(file: Path, found: ImportedPlan, *, as_json: bool) -> int:
    """Print a plan of another tool and what was left out; returns the exit code."""
    if as_json:
        notes = [{"line": note.line, "note": note.text} for note in found.notes]
        print_json(
            {"plan": found.plan, "problems": problem_rows(found.problems), "left_out": notes}
        )
    else:
        show_plan(file, found.plan, found.problems)
        for line in shown(f"{file}:{n.line}: {one_line(n.text, 300)}" for n in found.notes):
            echo(line, err=True)
    return USAGE if found.problems else 0
