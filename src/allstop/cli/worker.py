"""The command `worker`: does work of a board that another machine drives."""

from __future__ import annotations

import click

from allstop.cli.output import Context, echo, run
from allstop.core import number_bounds

BY = "user"
"""Who drains a worker from a terminal."""


def check_labels(
    context: click.Context, option: click.Parameter, labels: tuple[str, ...]
) -> tuple[str, ...]:
    from allstop.core.tasks import LABEL

    for label in labels:
        if not LABEL.fullmatch(label):
            raise click.BadParameter(f"{label!r} isn't a label: up to 32 letters, digits and . _ -")
    return tuple(dict.fromkeys(labels))


@click.group(invoke_without_command=True)
@click.option(
    "--slots",
    type=click.IntRange(1, number_bounds.SLOTS),
    help="How many tasks to work on at once; by default [loop] max_parallel.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="LABEL",
    callback=check_labels,
    help="What this machine offers to tasks that need it, such as gpu; may be repeated.",
)
@click.option("--name", default="", help="The worker's name; by default that of the machine.")
@click.pass_context
def worker(
    click_context: click.Context, slots: int | None, labels: tuple[str, ...], name: str
) -> None:
    """Work on tasks of a board that another machine drives.

    It needs [store] url, and a clone of the repository with the remote of [fleet] remote. Ctrl-C
    ends it; another worker continues its tasks. SIGTERM, or `allstop worker drain` on any machine,
    lets it finish its tasks first.

    \b
    Examples:
      allstop worker --slots 5
      allstop worker --label gpu --label large-memory
      allstop worker drain build-1
    """
    if click_context.invoked_subcommand is not None:
        return
    context: Context = click_context.obj
    from allstop.app.worker import require_fleet, work
    from allstop.open_files import raise_limit

    with context.project() as project:
        require_fleet(project)
        from allstop.app.fleet.membership import WorkerPlan

        plan = WorkerPlan(slots or project.settings.loop.max_parallel, labels)
        raise_limit()
        run(lambda: work(project, plan, name, echo))


@worker.command()
@click.argument("name")
@click.option("--undo", is_flag=True, help="Let it take work again, if it hasn't ended yet.")
@click.pass_obj
def drain(context: Context, name: str, undo: bool) -> None:
    """Let a worker finish its tasks and end; it takes no more.

    NAME is the worker's name, or its machine's. `allstop fleet status` lists them.
    """
    from allstop.app.machines import drain as drain_worker

    async def asked() -> str:
        row = await drain_worker(project, name, "" if undo else BY)
        return row.worker or row.host

    with context.project() as project:
        shown = run(asked)
    echo(f"{shown} takes work again." if undo else f"{shown} finishes its tasks and ends.")
