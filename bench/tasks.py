"""Q4, Q5: what tasks cost whose agent takes no time: iterations, workspaces, gate and merge.

Prints figures and ratios; asserts nothing. Each board works in a process of its own, with the real
journal, git and sandbox. The floor of an iteration is a loop in bash that starts the same agent in
the same box. `Q4` tells apart what our own process used and what the programs did that it started.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import anyio
import msgspec

from allstop.adapters.agents.command import CommandAgent
from allstop.adapters.processes.probe import make_launcher
from allstop.adapters.processes.proc import children_of
from allstop.app import board, boarding, equipping, work
from allstop.app.house import House
from allstop.core.events import MoveEnded, MoveStarted
from allstop.core.ids import BOARD
from allstop.core.moves import Failed, Spawn
from allstop.core.prompting import prompt
from allstop.core.tasks import NewTask, Status
from allstop.ports import Box, Live, Turn
from common import (
    COMMITS,
    SMALL,
    adopt_orphans,
    count_programs,
    house_in,
    repository,
    rss_mb,
    say_load,
    write_settings,
)
from common import programs_cpu_s as ended_cpu_s
from common.boxes import boxed_command

T = TypeVar("T")

SILENT = "cat >/dev/null; echo at it"
"""An agent that never says that it is done."""

WITHOUT_AGENT = ("OpenWorkspace", "Integrate", "Land")


class Figures(msgspec.Struct, kw_only=True):
    wall_s: float
    own_cpu_s: float
    child_cpu_s: float
    rss_mb: dict[int, float]  # by how many tasks were over
    moves_ms: dict[str, list[float]]
    programs: dict[str, int]
    done: int


# --- what programs use ------------------------------------------------------------------------


def lasting() -> list[int]:
    """Each git that stays, to answer questions and to write refs."""
    words = (b"\0--batch-check\0", b"\0update-ref\0")
    return [pid for pid in children_of(os.getpid()) if any(w in _command(pid) for w in words)]


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def bury_orphans() -> None:
    """Wait until all that was started is gone, but for what stays."""
    while waiting := set(children_of(os.getpid())) - set(lasting()):
        for pid in waiting:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def programs_cpu_s() -> float:
    """What those used that have ended, and the one that stays until now."""
    stays = [Path(f"/proc/{pid}/schedstat").read_text().split()[0] for pid in lasting()]
    return ended_cpu_s() + sum(map(int, stays)) / 1e9


# --- one board in a process of its own --------------------------------------------------------


async def work_on(folder: Path, slots: int, programs: Counter[str]) -> Figures:
    house = house_in(folder)
    spec = equipping.board_spec(house, slots=slots)
    known = await boarding.prepare(house, spec, lambda state: [])
    rss: dict[int, float] = {}
    programs.clear()
    async with boarding.at_work(house, spec, known, print) as session:
        wall, cpu, children = time.perf_counter(), time.process_time(), programs_cpu_s()
        async with anyio.create_task_group() as group:
            group.start_soon(watch_memory, session, rss)
            await session.shop.engine.idle()
            group.cancel_scope.cancel()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        bury_orphans()
        figures = Figures(
            wall_s=wall,
            own_cpu_s=cpu,
            child_cpu_s=programs_cpu_s() - children,
            rss_mb={**rss, session.run().pilot.board.added: rss_mb()},
            moves_ms=await moves_of(house),
            programs=dict(programs),
            done=session.run().pilot.board.count(Status.DONE),
        )
    house.close()
    return figures


async def watch_memory(session: boarding.Session, rss: dict[int, float]) -> None:
    while True:
        over = session.run().pilot.board.count(Status.DONE)
        if over // 50 > max(rss, default=0) // 50:
            rss[over] = rss_mb()
        await anyio.sleep(0.1)


async def moves_of(house: House) -> dict[str, list[float]]:
    """How long each move took, by its kind, from the journal."""
    found: dict[str, list[float]] = defaultdict(list)
    for head in await house.journal.heads():
        began: MoveStarted | None = None
        for record in await house.journal.read(head.run):
            match record.event:
                case MoveStarted(move=move) as began if not isinstance(move, Spawn):
                    pass
                case MoveEnded(at=at) if began is not None and head.run != BOARD:
                    found[type(began.move).__name__].append((at - began.at).total_seconds() * 1000)
    return found


def child(folder: Path, slots: int) -> None:
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
    house = house_in(folder)
    anyio.run(board.bring_in, house, tasks)
    house.close()


def measured(folder: Path, slots: int) -> Figures:
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(folder), "--slots", str(slots)],
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Figures)


def tasks(count: int, iterations: int | None = None) -> list[NewTask]:
    return [
        NewTask(id=f"T{n}", title=f"Write file {n}", iterations=iterations)
        for n in range(1, count + 1)
    ]


def in_turn(
    rounds: int, agent: str, some: list[NewTask], slots: tuple[int, ...], **how: object
) -> list[Figures]:
    """For each number of slots the quickest, measured in turn: the machine changes its speed.

    All is removed at the end: ext4 looks at every file that was deleted within the last seconds
    before it makes another, which takes up to a millisecond.
    """
    found: dict[int, list[Figures]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        for number in range(rounds):
            for each in slots:
                folder = Path(name, f"{number}-{each}")
                prepare(folder, agent, some, **how)
                found[each].append(measured(folder, each))
    return [min(found[each], key=lambda figures: figures.wall_s) for each in slots]


def say_disk() -> None:
    """What making a file costs here, for it is most of what a clone does."""
    with tempfile.TemporaryDirectory() as name:
        began = time.process_time()
        for number in range(50):
            Path(name, str(number)).touch()
        took = (time.process_time() - began) * 1000 / 50
    print(f"    making a file in {tempfile.gettempdir()} takes {took:.2f} ms CPU")


# --- Q5 ---------------------------------------------------------------------------------------


def bench_merging(count: int, rounds: int) -> None:
    one, four = in_turn(rounds, COMMITS, tasks(count), (1, 4))
    for slots, found in ((1, one), (4, four)):
        print(
            f"Q5  {count} instant tasks, {slots} slot{'s' * (slots > 1)}: {found.wall_s:.2f} s,"
            f" {found.wall_s / count * 1000:.0f} ms a task; CPU a task: our own"
            f" {found.own_cpu_s / count * 1000:.0f} ms, of programs"
            f" {found.child_cpu_s / count * 1000:.0f} ms; {found.done} merged"
        )
    print(f"    4 slots / 1: {four.wall_s / one.wall_s:.2f} of the time")
    for slots, found in ((1, one), (4, four)):
        spent = sum(sum(found.moves_ms.get(kind, [])) for kind in WITHOUT_AGENT) / count
        print(
            f"    {slots} slot{'s' * (slots > 1)}: workspace and merge alone {spent:.0f} ms a task"
            f" (goal 60)"
        )
        print_moves(found, count)
    print_programs(one, count)
    bench_steps(count)


def print_moves(found: Figures, count: int) -> None:
    for kind, took in found.moves_ms.items():
        print(
            f"      {kind:<14} {len(took) / count:4.1f} a task, median"
            f" {statistics.median(took):6.1f} ms, least {min(took):6.1f}, most {max(took):6.1f}"
        )


def print_programs(found: Figures, count: int) -> None:
    named = sorted(found.programs.items(), key=lambda item: -item[1])
    print("    programs for each:", ", ".join(f"{name} {n / count:.1f}" for name, n in named))


class Step(NamedTuple):
    wall_ms: float
    own_ms: float  # CPU
    programs_ms: float  # CPU


async def one_by_one(folder: Path, count: int) -> dict[str, list[Step]]:
    """What the moves of a task ask for, with nothing beside it: no journal, no other task."""
    house, room = house_in(folder), Box(home=str(folder))
    launcher = await make_launcher("on", house.live)
    workspaces = await work.workspaces(house, launcher)
    agent = CommandAgent(("sh", "-c", COMMITS), launcher=launcher, room=room, clock=house.clock)
    found: dict[str, list[Step]] = defaultdict(list)

    async def step(what: str, doing: Awaitable[T]) -> T:
        wall, own, programs = time.perf_counter(), time.process_time(), programs_cpu_s()
        result = await doing
        ended, used = time.perf_counter(), time.process_time()
        assert not isinstance(result, Failed), result
        bury_orphans()
        now = ended, used, programs_cpu_s()
        took = zip(now, (wall, own, programs), strict=True)
        found[what].append(Step(*((after - before) * 1000 for after, before in took)))
        return result

    for number in range(count):
        name, label = f"S{number}", f"board/S{number}"
        await step("open", workspaces.open(name, "main", label))
        turn = Turn(run=label, prompt=prompt("Do it."), place=workspaces.place(name))
        await step("agent", agent.take_turn(turn, Unheard()))
        await step("keep", workspaces.keep(name, label))
        await step("candidate", workspaces.candidate(name, label))
        made = await step("integrate", workspaces.integrate(name, "main", "Merge", label))
        await step("land", workspaces.land("main", made.tip, made.commit))
    return found


class Unheard:
    def live(self, live: Live) -> None:
        pass


def bench_steps(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), COMMITS, tasks(1))
        found = anyio.run(one_by_one, Path(name), count)
    print(f"    one by one, {count} times, medians (least):")
    for what, steps in found.items():
        wall, own, programs = zip(*steps, strict=True)
        print(
            f"      {what:<10} {statistics.median(wall):6.1f} ({min(wall):5.1f}) ms; CPU: our own"
            f" {statistics.median(own):5.1f} ({min(own):4.1f}),"
            f" of programs {statistics.median(programs):5.1f} ({min(programs):4.1f}) ms"
        )
    for needed in (("open", "integrate", "land"), ("open", "keep", "integrate", "land")):
        wall, own, programs = zip(
            *(map(statistics.median, zip(*found[what], strict=True)) for what in needed),
            strict=True,
        )
        least = sum(min(step.wall_ms for step in found[what]) for what in needed)
        print(
            f"      {', '.join(needed)}: {sum(wall):.0f} ms (least {least:.0f}; goal 60);"
            f" CPU {sum(own):.0f} + {sum(programs):.0f} ms"
        )


# --- Q4 ---------------------------------------------------------------------------------------


FEW = 5
"""Iterations of the task that is taken off: what opening a workspace costs is Q5's."""


def bench_iterations(iterations: int, rounds: int) -> None:
    many, few, floors = [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            for found, count in ((few, FEW), (many, FEW + iterations)):
                folder = Path(name, str(count))
                prepare(folder, SILENT, tasks(1, count))
                found.append(measured(folder, 1))
            floors.append(floor(folder, iterations))
    floor_wall, floor_cpu = (min(each) * 1000 / iterations for each in zip(*floors, strict=True))
    own, programs = (
        (min(getattr(one, what) for one in many) - min(getattr(one, what) for one in few))
        * 1000
        / iterations
        for what in ("own_cpu_s", "child_cpu_s")
    )
    wall = min(statistics.median(one.moves_ms["TakeTurn"]) for one in many)
    print(
        f"Q4  {iterations} iterations: {wall:.1f} ms each; CPU: our own {own:.1f} ms,"
        f" of programs {programs:.1f} ms"
    )
    print(f"    floor, the box in a bash loop: {floor_wall:.1f} ms each; CPU {floor_cpu:.1f} ms")
    print(
        f"    on top of the box: {own + programs - floor_cpu:.1f} ms CPU in all,"
        f" {own:.1f} ms in our own process (goal 5 ms)"
    )
    print_programs(many[0], iterations)


def floor(folder: Path, iterations: int) -> tuple[float, float]:
    """Wall time and CPU of a loop that starts the agent in the box of its workspace."""
    script = folder / "loop.sh"
    started = anyio.run(boxed_command, folder, "T1", SILENT)
    script.write_text(f"for i in $(seq {iterations}); do\n{started}\ndone\n")
    before, began = programs_cpu_s(), time.perf_counter()
    subprocess.run(["bash", script], stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - began
    bury_orphans()
    return wall, programs_cpu_s() - before


def bench_memory(count: int) -> None:
    (found,) = in_turn(1, COMMITS, tasks(count), (2,), gate="", merge=False)
    shown = ", ".join(f"{mb:.1f} MB after {tasks}" for tasks, mb in sorted(found.rss_mb.items()))
    print(f"Q4  RSS over {found.done} tasks (goal 64 MB, flat): {shown}; {found.wall_s:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["iterations", "merging", "memory"])
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--many", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--child")
    arguments = parser.parse_args()
    if arguments.child:
        child(Path(arguments.child), arguments.slots)
        return
    say_load()
    say_disk()
    adopt_orphans()
    if arguments.only in (None, "iterations"):
        bench_iterations(arguments.iterations, arguments.rounds)
    if arguments.only in (None, "memory"):
        bench_memory(arguments.many)
    if arguments.only in (None, "merging"):
        bench_merging(arguments.tasks, arguments.rounds)


if __name__ == "__main__":
    main()
