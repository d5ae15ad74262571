"""Prints `allstop status` without loading the command-line library, which takes longer."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from allstop.core.text import counted, one_line, plain

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.runs.status import BoardStatus, Status
    from allstop.views.runs import RunView

T = TypeVar("T")

TITLE_CHARS = 50  # in a table; more where the terminal is wide
MIN_TITLE_CHARS = 16  # shorter titles don't help; the terminal wraps the line instead
HELD = ("paused", "frozen", "stopped")

_MARKS = {
    "running": "▶",
    "queued": "◌",
    "pausing": "◐",
    "paused": "⏸",
    "frozen": "❄",
    "stopped": "■",
    "waiting": "…",
    "idle": "○",
    "interrupted": "!",
    "done": "✓",
}


def glance() -> None:
    """Print the same as the command `allstop status`."""
    from allstop.app.project import Project
    from allstop.app.runs.status import status
    from allstop.settings.sources.environment import this_environment

    with closing(Project(Path.cwd(), this_environment())) as project:
        lines = status_lines(project, look(lambda: status(project)))
    write_text("\n".join(lines))


def write_text(text: str) -> None:
    """Print text, made safe for a terminal, where the command-line library isn't loaded."""
    sys.stdout.write(f"{plain(text)}\n")
    sys.stdout.flush()  # a closed pipe must raise here


def look(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine that only reads. Usually it never waits, so no event loop is loaded."""
    coroutine = work()
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    coroutine.close()
    return run(work)


def run(work: Callable[[], Awaitable[T]]) -> T:
    import anyio

    return anyio.run(work)


def columns() -> int | None:
    """Return the terminal's width; None if the output is no terminal."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def cells(text: str) -> int:
    """Return the width of a text in columns: some characters take two, some none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text
    )


def fitting(text: str, most: int, others: int) -> str:
    """Cut a title to the terminal's width minus `others`; without a terminal, to `most`."""
    wide = columns()
    if wide is not None:
        most = max(MIN_TITLE_CHARS, wide - others)
    text = one_line(text, most)
    while len(text) > MIN_TITLE_CHARS and cells(text) > most:
        text = text[:-2] + "…"
    return text


def status_lines(project: Project, found: Status) -> list[str]:
    from allstop.app.control_room import control_room

    lines = []
    if found.hold == "stopped" and found.stopped_since:
        since = datetime.fromisoformat(found.stopped_since).astimezone()
        lines.append(
            f"■ ALLSTOP since {since:%Y-%m-%d %H:%M:%S}, by {found.stopped_by}. `allstop resume` lifts it."
        )
    elif found.hold != "running":
        lines.append(f"Everything is {found.hold}. To continue: `allstop resume`.")
    if found.disk_full:
        lines.append(
            f"! The disk is full: nothing can be recorded until {project.folder} has free space."
        )
    if room := control_room(project.folder):
        lines.append(f"The control room is open at {room.url} (process {room.pid}).")
    now = project.clock.now()
    lines += _board_lines(found.board, now) if found.board else []
    most = max(TITLE_CHARS, (columns() or 0) // 2)
    wide = max((cells(one_line(view.title, most)) for view in found.runs), default=0)
    ids = max((len(view.id) for view in found.runs), default=0)
    for view in found.runs:
        lines += [_run_line(view, ids, wide), *_wait_lines(view, found.hold, now)]
    if not found.runs and not found.board:
        lines.append("Nothing has been run here yet.")
    if found.accounts:
        from allstop.views.accounts import account_lines

        lines += account_lines(found.accounts)
    return [*lines, "", _next(project, found)]


def _board_lines(board: BoardStatus, now: datetime) -> list[str]:
    from allstop.views.log import local_time

    counts = " · ".join(f"{count} {status}" for status, count in board.counts.items())
    lines = [f"board: {board.phase.replace('_', ' ')} · {board.mode} · {counts or 'no tasks'}"]
    if board.sprint:
        lines.append(board.sprint)
    if board.waits:
        lines.append(f"! {board.waits}: the loop waits for you. To continue: `{board.start}`.")
    wide = max((len(task.id) for task in board.needs_you), default=0)
    for task in board.needs_you:
        since = f" since {local_time(task.since, now)}" if task.since else ""
        front = f"? {task.id:<{max(8, wide)}} {task.status}{since}"
        back = f"   → {task.do}"
        note = f": {fitting(task.note, 80, cells(front + back) + 2)}" if task.note else ""
        lines.append(f"{front}{note}{back}")
        lines += [f"  {plain(task.hint)}"] if task.hint else []
    return lines


def _run_line(view: RunView, ids: int, titles: int) -> str:
    """Format a run as a row; the title is cut first if the terminal is narrow."""
    mark = _MARKS.get(view.status, "✗")
    words = view.status if not view.reason else f"{view.status}: {one_line(view.reason, 1000)}"
    used = counted(view.tally.turns, "turn")
    front, back = f"{mark} {view.id:<{ids}} ", f"  {words}  ({used})"
    wide = columns()
    room = titles if wide is None else min(titles, wide - len(front) - cells(back))
    title = fitting(view.title, titles, (wide or 0) - room)
    return front + title + " " * (room - cells(title)) + back


def _wait_lines(view: RunView, hold: str, now: datetime) -> list[str]:
    """Since when a run waits, until when, and how to change it. What it waits for stands above."""
    wait = view.wait
    if wait is None or hold != "running":  # a hold of all runs is in the first line
        return []
    if view.needs_you and view.parent is not None:  # its task stands above with the same
        return []
    from allstop.views.log import local_time

    parts = [f"since {local_time(wait.since, now)}" if wait.since else ""]
    parts.append(f"until {local_time(wait.until, now)}" if wait.until else "")
    times = ", ".join(filter(None, parts))
    return ["    " + " → ".join(filter(None, [f"waits {times}" if times else "", wait.do]))]


def _next(project: Project, found: Status) -> str:
    if project.root is None:
        return "Next: go to a git repository, then `allstop init`."
    if not (project.root / "allstop.toml").exists():
        return "Next: `allstop init` writes allstop.toml for this repository."
    if found.hold != "running":
        return "Next: `allstop resume`."
    board = found.board
    if board and board.waits:
        first = "" if board.start.startswith("allstop sprint") else "fix the failed tasks, then "
        return f"Next: {first}`{board.start}`."
    if board and board.phase == "paused" and board.counts.get("active"):
        return "Next: `allstop run` continues."
    if board and board.needs_you:
        return f"Next: `{board.needs_you[0].do}`."
    if thread := _waiting_thread(found):
        return f"Next: `allstop log {thread}`, then `allstop resume {thread}`."
    return (
        (_next_of_board(found, board) if board else "")
        or _next_of_threads(found)
        or 'Next: `allstop add "TITLE"` and `allstop run`, or `allstop run "PROMPT"`.'
    )


def _next_of_board(found: Status, board: BoardStatus) -> str:
    is_at_rest = board.phase in ("idle", "waiting_user")
    if board.phase in ("running", "pausing"):
        return "Next: `allstop watch` shows progress, `allstop stop` stops it."
    if is_at_rest and (held := _held_task(found)):
        return f"Next: `allstop resume {held}`."
    if board.counts.get("active"):
        return "Next: `allstop run` continues."
    if is_at_rest and board.start:
        what = " works on the ready tasks" if board.start == "allstop run" else ""
        return f"Next: `{board.start}`{what}."
    return ""


def _held_task(found: Status) -> str:
    """Return the first held task if all started tasks are held: `allstop run` doesn't resume them."""
    from allstop.core.ids import BOARD, label_of

    begun = [run for run in found.runs if run.parent == BOARD and run.outcome is None]
    are_held = all(run.status in HELD for run in begun)
    return label_of(begun[0].id) if begun and are_held else ""


def _waiting_thread(found: Status) -> str:
    """Return a thread that waits for a person and that no process drives."""
    from allstop.core.ids import root_of

    threads = {run.id for run in found.runs if run.resume == f"allstop resume {run.id}"}
    waiting = (root_of(run.id) for run in found.runs if run.needs_you and not run.driven)
    return next((root for root in waiting if root in threads), "")


def _next_of_threads(found: Status) -> str:
    threads = [run for run in found.runs if run.resume == f"allstop resume {run.id}"]
    if name := next((run.id for run in threads if run.driven), ""):
        return f"Next: `allstop log {name} -f` shows progress, `allstop stop {name}` stops it."
    name = next((run.id for run in threads if run.status in HELD), "")
    return f"Next: `allstop resume {name}` continues it." if name else ""
