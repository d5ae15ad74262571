"""The command `comment`: comments on lines of a diff, sent to the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.argument_types import RUN_OR_TASK
from allstop.cli.output import Context, echo, json_option, print_json, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allstop.app.board.review_comments import OnLine, Sent
    from allstop.app.project import Project
    from allstop.core.review_comments import Review

LineComments = tuple[tuple[str, str], ...]


@click.command()
@click.argument("name", metavar="RUN", type=RUN_OR_TASK)
@click.option(
    "--on",
    "on_lines",
    type=(str, str),
    multiple=True,
    metavar="FILE:LINE TEXT",
    help="A line of the current work, and your comment on it.",
)
@click.option(
    "--before",
    "before_lines",
    type=(str, str),
    multiple=True,
    metavar="FILE:LINE TEXT",
    help="A line before the work, by its old number, and your comment.",
)
@click.option("-m", "--message", "text", default="", help="A comment on the work as a whole.")
@json_option
@click.pass_obj
def comment(
    context: Context,
    name: str,
    on_lines: LineComments,
    before_lines: LineComments,
    text: str,
    as_json: bool,
) -> None:
    """Comment on lines of a diff, for its agent.

    RUN is a task or a thread. The agent gets all comments in one message at its next turn. Work
    that waits for review goes back to the agent, and a failed task is tried again. Without --on
    and --before, the earlier comments are shown.

    \b
    Examples:
      allstop comment T1 --on src/app.py:12 "Handle an empty list." -m "Nearly done."
      allstop comment T1
    """
    if text and not (on_lines or before_lines):
        raise click.UsageError(
            "--message needs --on or --before; to send only a message, use `allstop tell`"
        )
    with context.project() as project:
        if not on_lines and not before_lines:
            _show(run(lambda: _reviews(project, name)), name, as_json=as_json)
            return
        sent = run(lambda: send_comments(project, name, on_lines, before_lines, text))
    if as_json:
        print_json({"run": name, "driven": sent.driven, "note": sent.note})
        return
    echo(f"{name}: {sent.note}.")
    if not sent.driven:
        echo(f"No process drives {name}; continue with `allstop run` or `allstop resume`.")


async def send_comments(
    project: Project, name: str, on_lines: LineComments, before_lines: LineComments, text: str
) -> Sent:
    from allstop.app.board.review_comments import Comment
    from allstop.app.board.review_comments import comment as send
    from allstop.core.ids import BOARD

    remarks = [
        *[await _remark(project, name, each, removed=False) for each in on_lines],
        *[await _remark(project, name, each, removed=True) for each in before_lines],
    ]
    sent = await send(project, name, Comment(remarks=tuple(remarks), text=text), "user")
    return sent._replace(driven=BOARD in project.journal.holders()) if sent.of_board else sent


async def _remark(project: Project, name: str, given: tuple[str, str], *, removed: bool) -> OnLine:
    import secrets

    from allstop.app.board.diff import line_of
    from allstop.app.board.review_comments import OnLine

    file, _, number = given[0].rpartition(":")
    if not file or not number.isdigit() or not given[1]:
        raise click.UsageError(f"{given[0]!r} is not FILE:LINE, followed by a comment")
    quoted = await line_of(project, name, file, int(number), removed=removed)
    return OnLine(
        id=secrets.token_hex(8),
        file=file,
        line=int(number),
        text=given[1],
        removed=removed,
        quoted=quoted,
    )


async def _reviews(project: Project, name: str) -> list[Review]:
    from allstop.app.board import commands
    from allstop.app.board.review_comments import reviews_in, reviews_of
    from allstop.app.runs.status import record_of

    task = (await commands.read(project)).state.board.get(name)
    if task is not None:
        return await reviews_of(project, task)
    return await reviews_in(project, [(await record_of(project, name)).run])


def _show(reviews: Sequence[Review], name: str, *, as_json: bool) -> None:
    from allstop.core.review_comments import in_words
    from allstop.core.text import plain

    if as_json:
        print_json({"run": name, "reviews": reviews})
        return
    for review in reviews:
        echo(f"{review.at.astimezone():%Y-%m-%d %H:%M}")
        echo(plain(in_words(review.text, review.remarks)) + "\n")
    if not reviews:
        echo(f"There are no comments on lines of {name}.")
