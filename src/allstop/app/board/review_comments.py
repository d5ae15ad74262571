"""Review comments on lines of an agent's work: sending them as one message, and listing them."""

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
Text = Annotated[str, Meta(min_length=1, max_length=10_000)]
Quote = Annotated[str, Meta(max_length=10_000)]


class OnLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A comment on one line of the changes."""

    id: Name  # chosen by the sender
    file: Path
    line: Line
    text: Text
    removed: bool = False  # the line number is that before the change
    quoted: Quote = ""


class Comment(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="command",
    tag="comment",
):
    """Comment on lines of an agent's work; the agent gets all comments in one message.

    It reads them at its next turn. Work in review goes back to the agent, and a failed task is
    tried again.
    """

    remarks: Annotated[tuple[OnLine, ...], Meta(min_length=1, max_length=200)]
    text: Annotated[str, Meta(max_length=10_000)] = ""


class Sent(NamedTuple):
    driven: bool
    of_board: bool  # the board must be driven for it to take effect
    note: str


async def comment(project: Project, run: str, action: Comment, by: str) -> Sent:
    """Send the comments by the command that reaches the agent in the task's current status.

    Raises AllstopError if no agent would read them.
    """
    remarks = tuple(_remark(each) for each in action.remarks)
    task = (await boards.read(project)).state.board.get(run)
    if task is None or task.open:
        say = commands.Say(text=action.text, remarks=remarks)
        effect = await deliver_command(project, run, say, by)
        return Sent(effect.driven, of_board=False, note="the agent reads it at its next turn")
    order, note = _order(task, action.text, remarks)
    await boards.send_commands(project, lambda state: [order])
    return Sent(driven=True, of_board=True, note=note)


def _order(task: Task, text: str, remarks: tuple[Remark, ...]) -> tuple[commands.TaskCommand, str]:
    if task.status is Status.REVIEW:
        redo = commands.Redo(task=task.id, text=text, remarks=remarks)
        return redo, "the task goes back to the agent"
    if task.status in STALLED:
        return commands.Retry(task=task.id, text=text, remarks=remarks), "the task is tried again"
    raise AllstopError(
        f"{task.id} is {task.status}: no agent would read it",
        "roll a merged task back; edit the text of a pending one",
        code="comment_not_readable",
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
    """The comments that were sent while these runs were open."""
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
    """All comments on a task's work, oldest first."""
    runs = dict.fromkeys(attempt.run for attempt in task.attempts)
    found = [*task.reviews, *await reviews_in(project, runs)]
    return sorted(found, key=lambda review: review.at)
