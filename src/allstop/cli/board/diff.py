"""The command `diff`: the changes of a task or a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from allstop.cli.argument_types import RUN_OR_TASK
from allstop.cli.output import Context, echo, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.adapters.git.repository.diff import Diff
    from allstop.app.project import Project

STYLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("diff ", {"bold": True}),
    ("+++ ", {"bold": True}),
    ("--- ", {"bold": True}),
    ("@@ ", {"fg": "cyan"}),
    ("+", {"fg": "green"}),
    ("-", {"fg": "red"}),
)


@click.command()
@click.argument("task_id", metavar="ID", type=RUN_OR_TASK)
@click.option("--stat", is_flag=True, help="Only the files, with the number of changed lines.")
@json_option
@click.pass_obj
def diff(context: Context, task_id: str, stat: bool, as_json: bool) -> None:
    """Show the changes of a task or a thread. For merged work, the merged changes."""
    with context.project() as project:
        found = run(lambda: _diff(project, task_id))
    if as_json:
        print_json(_as_document(task_id, found, with_patch=not stat))
        return
    if not found.files:
        echo(f"{task_id} has no changes.")
        return
    for file in found.files:
        size = "binary" if file.added is None else f"+{file.added} -{file.removed}"
        path = file.path.replace("\n", "\\n")  # so that a name can't imitate another line
        echo(f"{file.change:<8} {path}  {size}")
    if stat:
        return
    echo()
    for line in found.patch.rstrip("\n").split("\n"):
        echo(line, **_style(line))
    if found.cut:
        echo(f"… shortened; all of it: git diff {found.base[:10]} {found.tip[:10]}")


async def _diff(project: Project, task_id: str) -> Diff:
    from allstop.app.board.diff import diff_named

    return await diff_named(project, task_id)


def _as_document(task_id: str, found: Diff, *, with_patch: bool) -> dict[str, object]:
    return {
        "id": task_id,
        "base": found.base,
        "tip": found.tip,
        "files": [file._asdict() for file in found.files],
        "patch": found.patch if with_patch else "",
        "cut": found.cut,
    }


def _style(line: str) -> dict[str, Any]:
    return next((style for front, style in STYLES if line.startswith(front)), {})
