"""Q16: the time until a killed board works again, with 200 tasks and long journals.

Prints figures; asserts nothing. The real program, with journal, git and sandbox, is killed with
SIGKILL while its agents work. Measures the time from its restart until its first recorded move and
until an agent works again, by its own output.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anyio

from allstop.app.board import commands
from allstop.core.commands import EditTask
from allstop.core.events import Noted
from allstop.core.ids import BOARD, MoveId
from allstop.core.moves import Item
from allstop.core.tasks import Changes, NewTask
from allstop.ports import Entry
from common import SMALL, figure, print_load, project_in, repository, sized, write_settings

ALLSTOP = str(Path(sys.executable).with_name("allstop"))
GOAL_MS = 1000
SLOTS = 4
MOVE = "▶ "
TURN = "takes a turn"

NEVER_DONE = "cat >/dev/null; echo at it; sleep 3600"


# --- the journal ------------------------------------------------------------------------------


async def fill(folder: Path, tasks: int, edits: int) -> None:
    """Fill a board with tasks and edits."""
    project = project_in(folder)
    await commands.import_tasks(
        project, [NewTask(id=f"T{n}", title=f"Write file {n}") for n in range(1, tasks + 1)]
    )
    changes = [
        EditTask(task=f"T{n % tasks + 1}", changes=Changes(body=f"Said {n} times"))
        for n in range(edits)
    ]
    await commands.send_commands(project, lambda state: changes)
    project.close()


async def lengthen(folder: Path, notes: int) -> int:
    """Add items to the running attempts; returns the number of all events."""
    project = project_in(folder)
    state = (await commands.read(project)).state
    items = (Item(kind="message", text="I look at the next file, and at its tests. " * 10),)
    for task in state.refs.values():
        run = state.board[task].attempts[-1].run
        now = project.clock.now()
        noted = [Entry(run, Noted(at=now, id=MoveId(2), items=items)) for _ in range(notes)]
        await project.journal.append(*noted)
    heads = await project.journal.heads()
    count = sum([len(await project.journal.read(head.run)) for head in heads])
    assert any(head.run == BOARD for head in heads), "the journal has the board"
    project.close()
    return count


# --- the program ------------------------------------------------------------------------------


@contextmanager
def at_work(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """`allstop run`, killed at the end."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
    program = subprocess.Popen(
        [ALLSTOP, "run", "--parallel", str(SLOTS)],
        cwd=folder / "repository",
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield program
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()


def until(program: subprocess.Popen[str], words: str, times: int = 1) -> None:
    """Read its output until the words occurred so many times."""
    assert program.stdout is not None, "it is piped"
    for line in program.stdout:
        times -= words in line
        if not times:
            return
    raise SystemExit(f"allstop ended before it printed {words!r}")


class Moment(NamedTuple):
    wall_ms: float
    cpu_ms: float  # without child programs


def resumed(folder: Path) -> tuple[Moment, Moment]:
    began = time.perf_counter()

    def now() -> Moment:
        cpu = float(Path(f"/proc/{program.pid}/schedstat").read_text().split()[0]) / 1e6
        return Moment((time.perf_counter() - began) * 1000, cpu)

    with at_work(folder) as program:
        until(program, MOVE)
        moved = now()
        until(program, TURN)
        at_it = now()
        until(program, TURN, SLOTS - 1)
    return moved, at_it


def started_ms(folder: Path, rounds: int) -> float:
    """The start time of any command."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
        subprocess.run([ALLSTOP, "--version"], env=environment, check=True, capture_output=True)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=sized(5, 1))
    parser.add_argument("--tasks", type=int, default=sized(200, 4))
    parser.add_argument("--edits", type=int, default=sized(5000, 10))
    parser.add_argument("--notes", type=int, default=sized(2000, 5))
    given = parser.parse_args()
    print_load()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository(folder / "repository", SMALL)
        write_settings(folder / "home", NEVER_DONE)
        anyio.run(fill, folder, given.tasks, given.edits)
        with at_work(folder) as program:
            until(program, TURN, SLOTS)
        events = anyio.run(lengthen, folder, given.notes)
        found = [resumed(folder) for _ in range(given.rounds)]
        floor = started_ms(folder, given.rounds)
    print(f"Q16 killed with {SLOTS} agents at work, {given.tasks} tasks, {events:,} events:")
    for what, moments in zip(
        ("its first move", "an agent at work"), zip(*found, strict=True), strict=True
    ):
        wall = [moment.wall_ms for moment in moments]
        cpu = statistics.median(moment.cpu_ms for moment in moments)
        print(
            f"    {what:<16} after {statistics.median(wall):4.0f} ms, at worst {max(wall):4.0f} ms"
            f" (goal {GOAL_MS}); {cpu:.0f} ms CPU"
        )
    took = statistics.median(at_it.wall_ms for _, at_it in found)
    figure(
        "Q16 agent works again after a kill",
        f"{took:.0f} ms",
        goal=f"{GOAL_MS} ms",
        ratio=f"{took / floor:.1f} x allstop --version",
    )
    print(f"    `allstop --version` alone takes {floor:.0f} ms")


if __name__ == "__main__":
    main()
