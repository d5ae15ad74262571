"""Shell completion: the script for a shell, and the names of runs and tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, look

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.supervisor import RunKinds


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script for a shell.

    It completes commands, options, and the names of runs and tasks.

    \b
    Examples:
      eval "$(allstop completion bash)"             # in ~/.bashrc
      eval "$(allstop completion zsh)"              # in ~/.zshrc, after compinit
      allstop completion fish | source              # in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    from allstop.cli import COMPLETION_VARIABLE

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    script = kind(context.find_root().command, {}, "allstop", COMPLETION_VARIABLE).source()
    echo(script, nl=False)


def stored_names(folder: Path, kinds: RunKinds | None, *, with_runs: bool) -> dict[str, str]:
    """The tasks of the board and, if asked for, the runs beside it, with their titles."""
    with Context(folder, (), kinds).project() as project:
        return look(lambda: _names(project, with_runs=with_runs)) if project.has_store else {}


async def _names(project: Project, *, with_runs: bool) -> dict[str, str]:
    from allstop.app.board.commands import read
    from allstop.core.text import one_line

    tasks = (await read(project)).state.board.tasks()
    names = {task.id: one_line(task.title, 60) for task in tasks}
    if with_runs:
        heads = await project.records.heads()
        names |= {head.run: head.kind for head in heads if head.parent is None}
    return names
