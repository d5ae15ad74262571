"""The command `queue`: what is merged now, what waits, and what was thrown out of the queue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, fitting, json_option, look, print_json
from allstop.cli.times import duration
from allstop.core.text import counted, one_line

if TYPE_CHECKING:
    from datetime import datetime

    from allstop.views.merge_queue import MergeQueueView, QueuedChange, RunningMerge

ID_CHARS = 8


@click.command()
@json_option
@click.pass_obj
def queue(context: Context, as_json: bool) -> None:
    """Show what is merged, what waits, and what was thrown out.

    Changes that wait are merged together, checked once, and landed together. If a batch fails, it
    is split. A change that fails by itself goes back to its agent.

    \b
    Examples:
      allstop queue
      allstop queue --json
    """
    from allstop.app.board.merge_queue import merge_queue

    with context.project() as project:
        found = look(partial(merge_queue, project))
        now = project.clock.now()
    if as_json:
        print_json(found)
        return
    for line in lines(found, now):
        echo(line)


def lines(found: MergeQueueView, now: datetime) -> Iterator[str]:
    if found.merge is None and not found.waiting:
        yield "Nothing is being merged, and nothing waits."
    if found.held and found.waiting:
        yield f"Held: {one_line(found.held, 300)}. `allstop resume board` goes on."
    if found.merge is not None:
        yield from _running(found.merge, now)
    if found.waiting:
        yield f"Waiting: {len(found.waiting) + found.more}, the next one first"
        for change in found.waiting:
            yield from _change("○", change)
        if found.more:
            yield f"  … and {found.more} more"
    for batches in found.batches:
        failed = f"{batches.failed} of the last {counted(batches.counted, 'change')} failed"
        why = failed if batches.counted else "no change has been merged yet"
        size = f"at most {batches.largest} changes" if batches.largest > 1 else "one change"
        yield f"A batch for {batches.target}: {size} ({why})"
    if found.thrown_out:
        yield "Thrown out, the latest first"
    for out in found.thrown_out:
        ago = duration((now - out.at).total_seconds())
        yield _row("✗", out.id, out.title)
        yield f"    {ago} ago: {one_line(out.reason, 300)}"
        yield f"    the task is {out.status} now" if out.status else "    the task is gone"


_SIGNS = {"next": "○", "merged": "●", "left_out": "✗", "landed": "✓"}


def _running(merge: RunningMerge, now: datetime) -> Iterator[str]:
    since = duration((now - merge.since).total_seconds())
    doing = merge.doing or "waits"
    again = ", once more" if merge.again and merge.checks else ""
    together = f"{counted(len(merge.changes), 'change')} to {merge.target}"
    yield f"Merging: {together}; {doing}{again} ({since})"
    for change in merge.changes:
        yield from _change(_SIGNS[change.place], change)


def _change(sign: str, change: QueuedChange) -> Iterator[str]:
    yield _row(sign, change.id, change.title)
    if change.note:
        yield f"    {change.note}"


def _row(sign: str, name: str, title: str) -> str:
    front = f"{sign} {name:<{ID_CHARS}} "
    return f"{front}{fitting(title, 70, len(front))}"
