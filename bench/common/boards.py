"""Runs a board in its own process and measures time, CPU, memory and programs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import anyio
import msgspec

from allstop.adapters.processes.proc import children_of
from allstop.app.board import board_spec, commands, driver
from allstop.app.project import Project
from allstop.core.events import MoveEnded, MoveStarted
from allstop.core.ids import BOARD
from allstop.core.moves import Spawn
from allstop.core.tasks import NewTask, Status
from common import (
    SMALL,
    adopt_orphans,
    count_programs,
    project_in,
    repository,
    rss_mb,
    write_settings,
)
from common import programs_cpu_s as ended_cpu_s


class Figures(msgspec.Struct, kw_only=True):
    wall_s: float
    own_cpu_s: float
    child_cpu_s: float
    rss_mb: dict[int, float]  # by number of finished tasks
    moves_ms: dict[str, list[float]]
    programs: dict[str, int]
    done: int


# --- CPU of programs --------------------------------------------------------------------------


def git_daemons() -> list[int]:
    """The long-lived git processes that look up objects and write refs."""
    words = (b"\0--batch-check\0", b"\0update-ref\0")
    return [pid for pid in children_of(os.getpid()) if any(w in _command(pid) for w in words)]


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def reap_orphans() -> None:
    """Wait until all child programs except the git daemons have ended."""
    while waiting := set(children_of(os.getpid())) - set(git_daemons()):
        for pid in waiting:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def programs_cpu_s() -> float:
    """CPU time of ended programs and of the git daemons."""
    stays = [Path(f"/proc/{pid}/schedstat").read_text().split()[0] for pid in git_daemons()]
    return ended_cpu_s() + sum(map(int, stays)) / 1e9


# --- one board in a process of its own --------------------------------------------------------


async def work_on(folder: Path, slots: int, programs: Counter[str]) -> Figures:
    project = project_in(folder)
    spec = board_spec.board_spec(project, slots=slots)
    known = await driver.prepare(project, spec, lambda state: [])
    rss: dict[int, float] = {}
    programs.clear()
    async with driver.drive_board(project, spec, known, AsyncExitStack(), print) as session:
        wall, cpu, children = time.perf_counter(), time.process_time(), programs_cpu_s()
        async with anyio.create_task_group() as group:
            group.start_soon(watch_memory, session, rss)
            await session.runtime.engine.idle()
            group.cancel_scope.cancel()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        reap_orphans()
        figures = Figures(
            wall_s=wall,
            own_cpu_s=cpu,
            child_cpu_s=programs_cpu_s() - children,
            rss_mb={**rss, session.run().pilot.board.added: rss_mb()},
            moves_ms=await moves_of(project),
            programs=dict(programs),
            done=session.run().pilot.board.count(Status.DONE),
        )
    project.close()
    return figures


async def watch_memory(session: driver.BoardSession, rss: dict[int, float]) -> None:
    while True:
        over = session.run().pilot.board.count(Status.DONE)
        if over // 50 > max(rss, default=0) // 50:
            rss[over] = rss_mb()
        await anyio.sleep(0.1)


async def moves_of(project: Project) -> dict[str, list[float]]:
    """Durations of the moves by kind, from the journal."""
    found: dict[str, list[float]] = defaultdict(list)
    for head in await project.journal.heads():
        began: MoveStarted | None = None
        for record in await project.journal.read(head.run):
            match record.event:
                case MoveStarted(move=move) as began if not isinstance(move, Spawn):
                    pass
                case MoveEnded(at=at) if began is not None and head.run != BOARD:
                    found[type(began.move).__name__].append((at - began.at).total_seconds() * 1000)
    return found


def main() -> None:
    folder, slots = Path(sys.argv[1]), int(sys.argv[2])
    adopt_orphans()
    programs: Counter[str] = Counter()
    count_programs(programs)
    figures = anyio.run(work_on, folder, slots, programs)
    sys.stdout.buffer.write(msgspec.json.encode(figures))


# --- the boards -------------------------------------------------------------------------------


def prepare(
    folder: Path, agent: str, tasks: list[NewTask], *, gate: str = "true", merge: bool = True
) -> None:
    repository(folder / "repository", SMALL)
    write_settings(folder / "home", agent, gate)
    if not merge:
        with (folder / "home/.config/allstop/config.toml").open("a") as file:
            file.write("\n[merge]\nenabled = false\n")
    project = project_in(folder)
    anyio.run(commands.import_tasks, project, tasks)
    project.close()


def measured(folder: Path, slots: int) -> Figures:
    done = subprocess.run(
        [sys.executable, "-m", "common.boards", str(folder), str(slots)],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Figures)


def tasks(count: int, iterations: int | None = None) -> list[NewTask]:
    return [
        NewTask(id=f"T{n}", title=f"Write file {n}", iterations=iterations)
        for n in range(1, count + 1)
    ]


def print_programs(programs: dict[str, int], count: int) -> None:
    named = sorted(programs.items(), key=lambda item: -item[1])
    print("    programs for each:", ", ".join(f"{name} {n / count:.1f}" for name, n in named))


if __name__ == "__main__":
    main()
