"""The command `review`: the tasks that wait for a decision, one after the other, a key each."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.cli.argument_types import TASK
from allstop.cli.keyboard import discard_typing, read_key
from allstop.cli.output import Context, echo, fitting, in_words, json_option, look, print_json, run
from allstop.core.errors import AllstopError
from allstop.core.text import counted, money, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allstop.app.project import Project
    from allstop.core.commands import Command
    from allstop.views.evidence import Evidence, QueuedReview

KEYS = (
    "a approve · r redo · x reject · c comment on a line · v columns · n next · p previous · q quit"
)


@click.command()
@click.argument("task_id", metavar="[ID]", required=False, type=TASK)
@json_option
@click.pass_obj
def review(context: Context, task_id: str | None, as_json: bool) -> int:
    """Review waiting work, one key per decision.

    In a terminal each task is shown with its evidence, the one with the worst finding first, and a
    key decides. Approved work is merged at the end, unless another process drives the board.
    Elsewhere, and with --json, the queue is printed. With ID, review starts at that task.

    \b
    Examples:
      allstop review
      allstop review T3
      allstop show --review T3     print the evidence only
    """
    with context.project() as project:
        rows = look(partial(_queue, project))
        if as_json:
            print_json({"tasks": rows})
            return 0
        if not sys.stdin.isatty() or not sys.stdout.isatty():
            _print_queue(rows)
            return 0
        session = ReviewSession(project, [row.id for row in rows])
        session.start_at(task_id)
        session.run()
        return session.finish()


async def _queue(project: Project) -> list[QueuedReview]:
    from allstop.app.board.evidence import review_queue

    return await review_queue(project) if project.has_store else []


def _print_queue(rows: Sequence[QueuedReview]) -> None:
    from allstop.cli.board.evidence import SIGNS

    for row in rows:
        sign = SIGNS[row.severity] if row.severity else "✓"
        cost = money(row.cost_usd, partial=row.partial)
        front = f"{sign} {row.id:<8} {row.agent:<10} {cost:>8}  "
        echo(f"{front}{fitting(row.title, 70, len(front))}")
        if row.why:
            more = f" (and {row.more} more)" if row.more else ""
            echo(f"  {one_line(row.why, 200)}{more}")
    if not rows:
        echo("Nothing waits for your review.")


class Comment(NamedTuple):
    """A comment that was not sent yet."""

    place: str  # FILE:LINE
    text: str


class ReviewSession:
    """The queue in a terminal: which task is shown, and what the person has decided."""

    def __init__(self, project: Project, tasks: list[str]) -> None:
        self._project = project
        self._tasks = tasks
        self._at = 0
        self._in_columns = False
        self._comments: dict[str, list[Comment]] = {}
        self._approved: list[str] = []
        self._sent_back: list[str] = []

    def start_at(self, task_id: str | None) -> None:
        """Raises AllstopError if that task doesn't wait for review."""
        if task_id is None:
            return
        if task_id not in self._tasks:
            hint = f"`allstop show --review {task_id}` shows its evidence"
            raise AllstopError(f"{task_id} doesn't wait for review", hint, code="task_wrong_status")
        self._at = self._tasks.index(task_id)

    def run(self) -> None:
        """Show the tasks until all are decided, or the person quits."""
        from allstop.app.board.evidence import evidence_of_task
        from allstop.cli.board.evidence import show_evidence

        while self._tasks:
            task = self._tasks[self._at]
            found = run(partial(evidence_of_task, self._project, task))
            echo("\n" + "─" * 60)
            show_evidence(found, in_columns=self._in_columns)
            discard_typing()
            if not self._decide(found):
                return
        echo("Nothing waits for your review.")

    def _decide(self, found: Evidence) -> bool:
        """Take keys until another task, or the same in another form, is to be shown."""
        while True:
            comments = len(self._comments.get(found.id, ()))
            unsent = f" · {counted(comments, 'comment')} not sent" if comments else ""
            place = f"[{self._at + 1} of {len(self._tasks)}]"
            echo("\n" + in_words(f"{place} {KEYS}{unsent}"), bold=True)
            match read_key():
                case "a" if self._approve(found):
                    return True
                case "r" if self._redo(found):
                    return True
                case "x" if self._reject(found):
                    return True
                case "c":
                    self._comment(found)
                case "v":
                    self._in_columns = not self._in_columns
                    return True
                case "n" | "j":
                    self._at = (self._at + 1) % len(self._tasks)
                    return True
                case "p" | "k":
                    self._at = (self._at - 1) % len(self._tasks)
                    return True
                case "q" | "":
                    return False
                case _:
                    pass

    def _approve(self, found: Evidence) -> bool:
        """A serious finding needs a second key; `a` again is not enough."""
        from allstop.core.commands import Approve

        if found.to_confirm:
            echo(f"✗ {found.to_confirm}", fg="red")
            echo("Merge it anyway? y merges, any other key goes back", bold=True)
            if read_key() != "y":
                echo(f"{found.id}: not approved.")
                return False
        self._tell(Approve(task=found.id, confirmed=bool(found.to_confirm)))
        self._approved.append(found.id)
        return self._decided(found, "approved")

    def _redo(self, found: Evidence) -> bool:
        comments = self._comments.get(found.id, [])
        asks = "What should change?" + (" (may be empty)" if comments else " (empty goes back)")
        text = click.prompt(asks, default="", show_default=False).strip()
        if not text and not comments:
            return False
        if not self._send_back(found.id, comments, text):
            return False
        self._sent_back.append(found.id)
        return self._decided(found, "goes back to its agent")

    def _send_back(self, task: str, comments: Sequence[Comment], text: str) -> bool:
        from allstop.cli.board.comment import send_comments
        from allstop.core.commands import Redo

        if not comments:
            self._tell(Redo(task=task, text=text))
            return True
        try:
            run(partial(send_comments, self._project, task, tuple(comments), (), text))
        except AllstopError as error:
            echo(f"error: {error.message}", fg="red")
            return False
        del self._comments[task]
        return True

    def _reject(self, found: Evidence) -> bool:
        from allstop.core.commands import Reject

        echo("Reject it? Its work is kept unmerged. y rejects, any other key goes back", bold=True)
        if read_key() != "y":
            echo(f"{found.id}: not rejected.")
            return False
        self._tell(Reject(task=found.id))
        return self._decided(found, "rejected; its work is kept")

    def _comment(self, found: Evidence) -> None:
        """Keep a comment until the task is sent back; a line that isn't there is refused now."""
        from allstop.app.board.diff import line_of

        place = click.prompt("Line (FILE:LINE)", default="", show_default=False).strip()
        file, _, number = place.rpartition(":")
        if not file or not number.isdigit():
            echo("That is not FILE:LINE.")
            return
        try:
            quoted = run(
                partial(line_of, self._project, found.id, file, int(number), removed=False)
            )
        except AllstopError as error:
            echo(f"{error.message}.")
            return
        echo(f"> {quoted}")
        text = click.prompt("Comment", default="", show_default=False).strip()
        if text:
            self._comments.setdefault(found.id, []).append(Comment(place, text))

    def _tell(self, command: Command) -> None:
        from allstop.app.board import commands as board

        run(lambda: board.send_commands(self._project, lambda state: [command]))

    def _decided(self, found: Evidence, how: str) -> bool:
        echo(f"{found.id}: {how}.")
        self._tasks.remove(found.id)
        self._at = min(self._at, max(0, len(self._tasks) - 1))
        return True

    def finish(self) -> int:
        """Merge what was approved, unless another process does."""
        from allstop.core.ids import BOARD

        if BOARD in self._project.journal.holders():
            return 0
        if self._sent_back:
            echo(f"{', '.join(self._sent_back)}: `allstop run` lets the agents continue.")
        return run(partial(_merge, self._project, self._approved)) if self._approved else 0


async def _merge(project: Project, approved: list[str]) -> int:
    from allstop.app.board.board_spec import board_spec
    from allstop.app.board.commands import read
    from allstop.cli.board.run_board import run_board

    chosen = (await read(project)).state.chosen
    spec = board_spec(project, mode=chosen, count=0, only=approved)
    return await run_board(project, spec, lambda state: [], only=approved)
