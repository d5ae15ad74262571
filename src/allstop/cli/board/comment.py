"""Comments on lines of an agent's work: comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, json_option, print_json, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allstop.app.board.review_comments import OnLine, Sent
    from allstop.app.project import Project
    from allstop.core.review_comments import Review

Said = tuple[tuple[str, str], ...]


@click.command()
@click.argument("name", metavar="RUN")
@click.option(
    "--on",
    "on_lines",
    type=(str, str),
    multiple=True,
    metavar="FILE:LINE TEXT",
    help="A line of the work as it is now, and what you say of it.",
)
@click.option(
    "--before",
    "before_lines",
    type=(str, str),
    multiple=True,
    metavar="FILE:LINE TEXT",
    help="A line as it was before the work, by its number then.",
)
@click.option("-m", "--message", "text", default="", help="What you say of the whole.")
@json_option
@click.pass_obj
def comment(
    context: Context,
    name: str,
    on_lines: Said,
    before_lines: Said,
    text: str,
    as_json: bool,
) -> None:
    """Comment lines of the work of RUN, a task or a thread; all of it is one message.

    Its agent reads file, line, the line itself and your words at its next turn. Work that waits
    for review goes back with them, and a task that failed is tried again. Without --on and
    --before, what was said so far is shown.
    """
    if text and not (on_lines or before_lines):
        raise click.UsageError("--message goes with comments on lines; see `allstop tell`")
    with context.project() as project:
        if not on_lines and not before_lines:
            _show(run(lambda: _reviews(project, name)), name, as_json=as_json)
            return
        sent = run(lambda: _send(project, name, on_lines, before_lines, text))
    if as_json:
        print_json({"run": name, "driven": sent.driven, "note": sent.note})
        return
    click.echo(f"{name}: {sent.note}.")
    if not sent.driven:
        click.echo("Nobody drives it now; `allstop run` or `allstop resume` goes on.")


async def _send(project: Project, name: str, on_lines: Said, before_lines: Said, text: str) -> Sent:
    from allstop.app.board.review_comments import Comment
    from allstop.app.board.review_comments import comment as send
    from allstop.core.ids import BOARD

    remarks = [
        *[await _remark(project, name, each, removed=False) for each in on_lines],
        *[await _remark(project, name, each, removed=True) for each in before_lines],
    ]
    sent = await send(project, name, Comment(remarks=tuple(remarks), text=text), "user")
    return sent._replace(driven=BOARD in project.journal.holders()) if sent.of_board else sent


async def _remark(project: Project, name: str, said: tuple[str, str], *, removed: bool) -> OnLine:
    import secrets

    from allstop.app.board.diff import line_of
    from allstop.app.board.review_comments import OnLine

    file, _, number = said[0].rpartition(":")
    if not file or not number.isdigit() or not said[1]:
        raise click.UsageError(f"{said[0]!r} is no line; write FILE:LINE and what you say of it")
    quoted = await line_of(project, name, file, int(number), removed=removed)
    return OnLine(
        id=secrets.token_hex(8),
        file=file,
        line=int(number),
        text=said[1],
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
        click.echo(f"{review.at.astimezone():%Y-%m-%d %H:%M}")
        click.echo(plain(in_words(review.text, review.remarks)) + "\n")
    if not reviews:
        click.echo(f"Nothing has been said of lines of {name}.")
