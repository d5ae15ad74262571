"""Remarks on lines of an agent's work: sent as one message, and read again later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import Meta, Struct

from allstop.app.board import commands as boards
from allstop.app.runs.commands import deliver_command
from allstop.core import commands
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded
from allstop.core.ids import RunId
from allstop.core.review_comments import Remark, Review
from allstop.core.tasks import STALLED, Status, Task

if TYPE_CHECKING:
    from allstop.app.project import Project

Name = Annotated[str, Meta(min_length=1, max_length=100)]
Path = Annotated[str, Meta(min_length=1, max_length=4096)]
Line = Annotated[int, Meta(ge=1)]
Words = Annotated[str, Meta(min_length=1, max_length=10_000)]
Quote = Annotated[str, Meta(max_length=10_000)]


class OnLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Said of one line of the changes."""

    id: Name  # made up by whoever writes it
    file: Path
    line: Line
    text: Words
    removed: bool = False  # the number is that of before
    quoted: Quote = ""


class Comment(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="command",
    tag="comment",
):
    """Say something of lines of an agent's work, all of it as one message.

    It is read at the next turn; work that waits for review goes back with it, and a task that
    ended without success is tried again.
    """

    remarks: Annotated[tuple[OnLine, ...], Meta(min_length=1, max_length=200)]
    text: Annotated[str, Meta(max_length=10_000)] = ""


class Sent(NamedTuple):
    driven: bool
    of_board: bool  # the board acts on it
    note: str


async def comment(project: Project, run: str, action: Comment, by: str) -> Sent:
    """Send it by the way that reaches the agent as things are.

    Raises:
        AllstopError: nobody would read it now; the message says why.
    """
    remarks = tuple(_remark(each) for each in action.remarks)
    task = (await boards.read(project)).state.board.get(run)
    if task is None or task.open:
        spoken = await deliver_command(
            project, run, commands.Say(text=action.text, remarks=remarks), by
        )
        return Sent(spoken.driven, of_board=False, note="it is read at the next turn")
    order, note = _order(task, action.text, remarks)
    await boards.send_commands(project, lambda state: [order])
    return Sent(driven=True, of_board=True, note=note)


def _order(task: Task, text: str, remarks: tuple[Remark, ...]) -> tuple[commands.TaskCommand, str]:
    if task.status is Status.REVIEW:
        return commands.Redo(task=task.id, text=text, remarks=remarks), "it goes back to the agent"
    if task.status in STALLED:
        return commands.Retry(task=task.id, text=text, remarks=remarks), "it is tried again"
    raise AllstopError(
        f"{task.id} is {task.status}: no agent would read it",
        "a task that is merged can be rolled back; one that is pending has its own words",
    )


def _remark(each: OnLine) -> Remark:
    return Remark(
        id=each.id,
        file=each.file,
        line=each.line,
        text=each.text,
        removed=each.removed,
        quoted=each.quoted,
    )


async def reviews_in(project: Project, runs: Iterable[RunId]) -> list[Review]:
    """What was said of lines while these runs were at work."""
    found: list[Review] = []
    for run in runs:
        for record in await project.journal.read(run):
            match record.event:
                case Commanded(command=commands.Say(text=text, remarks=remarks), at=at) if remarks:
                    found.append(Review(at=at, text=text, remarks=remarks))
                case _:
                    pass
    return found


async def reviews_of(project: Project, task: Task) -> list[Review]:
    """All that was said of lines of a task's work, the oldest first."""
    runs = dict.fromkeys(attempt.run for attempt in task.attempts)
    said = [*task.reviews, *await reviews_in(project, runs)]
    return sorted(said, key=lambda review: review.at)
