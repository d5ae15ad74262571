"""Q1, Q2, Q3: the cost of a durable turn with instant agents, in tasks and in rooms.

Prints figures and ratios; asserts nothing. The floors are hand-written loops without brakes that
insert the same bytes into an SQLite file: one with a commit per turn, and one whose loops share
commits. The build of Python makes a difference of 20 to 30 %, so it is printed first.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sqlite3
import statistics
import sys
import sysconfig
import tempfile
import time
import timeit
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import anyio

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import StartSession
from allstop.core.context_window import CachePricing
from allstop.core.moves import Outcome, TurnDone, Usage
from allstop.core.room_specs import Guards, Seat, SessionSpec, TalkMode
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.kinds import PILOTS
from allstop.ports import Abilities, Isolation
from common import figure, print_load, raise_priority, sized

EACH = sized(200, 3)  # turns of each of many runs
LONG = sized(10_001, 21)
WARM = sized(50, 3)
REPLY = "word " * 118  # 590 bytes, as a room's message has
ENVELOPE = json.dumps({"message": "word " * 112})


class RoomAgent:
    """An instant agent in a room, without handoffs."""

    abilities = Abilities()

    def __init__(self, cpu_at=None):
        self._cpu_at = cpu_at

    async def take_turn(self, turn, watch):
        if self._cpu_at is not None:
            self._cpu_at.append(time.process_time())
        return TurnDone(text=ENVELOPE, usage=Usage(input=2500, output=150))

    async def close(self):
        pass


class InstantAgent:
    abilities = Abilities()

    async def take_turn(self, turn, watch):
        return TurnDone(text=REPLY, thread="t", usage=Usage(input=500, output=120))

    async def close(self):
        pass


class CountingAgent(InstantAgent):
    """Records the CPU time at the start of each turn."""

    def __init__(self):
        self.cpu_at = []

    async def take_turn(self, turn, watch):
        self.cpu_at.append(time.process_time())
        return await super().take_turn(turn, watch)


class NoLauncher:
    isolation = Isolation(boxed=True, allowed=True, how="nothing is launched")

    def kill(self, label):
        pass

    def out_of_memory(self, label):
        return ""

    async def memory_exceeded(self):
        await anyio.sleep_forever()

    def killed(self, label=""):
        return ()


async def talk(folder: Path, runs: int, turns: int, cpu_at=None) -> None:
    """Rooms of two agents in Autopilot with an elastic window."""
    journal = SqliteJournal(folder, SystemClock())
    launcher = NoLauncher()
    agents = {"gpt": RoomAgent(cpu_at), "claude": RoomAgent(cpu_at)}
    engine = LocalEngine(
        journal=journal,
        hands=Hands(agents, launcher=launcher),
        clock=SystemClock(),
        pilots=PILOTS,
        launcher=launcher,
    )
    session = SessionSpec(
        id="s",
        mode=TalkMode.AUTOPILOT,
        goal="Brainstorm features for a cozy bakery website.",
        seats=tuple(Seat(agent=name, memory=CachePricing()) for name in agents),
        first="gpt",
        guards=Guards(max_turns=turns, max_tokens=10**12, max_minutes=10**6, soft_turns=0),
    )

    async def one(run: str) -> None:
        await engine.open(run, "room", {"thread": run})
        await engine.command(run, StartSession(session=session))

    async with engine.serving():
        async with anyio.create_task_group() as group:
            for number in range(runs):
                group.start_soon(one, f"room:{number}")
        await engine.idle()
    journal.close()


async def drive(folder: Path, runs: int, turns: int, agent=None) -> None:
    journal = SqliteJournal(folder, SystemClock())
    launcher = NoLauncher()
    hands = Hands({"a": agent or InstantAgent()}, launcher=launcher)
    engine = LocalEngine(
        journal=journal, hands=hands, clock=SystemClock(), pilots=PILOTS, launcher=launcher
    )
    async with engine.serving():
        async with anyio.create_task_group() as group:
            for number in range(runs):
                goal = f"go on, {number}"  # a different goal, so that no cache helps
                spec = {"task": "t", "goal": goal, "agents": ["a"], "iterations": turns}
                group.start_soon(engine.open, f"r{number}", "task", spec)
        for number in range(runs):
            if (rest := await engine.rested(f"r{number}")) is not Outcome.TIMED_OUT:
                sys.exit(f"r{number} did not take all its turns: {rest}")
    journal.close()


def floor_db(folder: Path) -> sqlite3.Connection:
    folder.mkdir()
    db = sqlite3.connect(folder / "floor.db", isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    db.execute("create table events (run text, seq integer, event blob, primary key (run, seq))")
    return db


def floor(folder: Path, turns: int) -> None:
    db = floor_db(folder)
    for number in range(turns):
        db.execute("begin")
        db.execute("insert into events values ('r', ?, ?)", (number, REPLY))
        db.execute("commit")
    db.close()


async def shared_floor(folder: Path, runs: int, turns: int) -> None:
    db = floor_db(folder)
    waiting: list[tuple[str, int, str]] = []
    committed = anyio.Event()

    async def loop(run: str) -> None:
        for number in range(turns):
            result = await InstantAgent().take_turn(None, None)
            waiting.append((run, number, result.text))
            await committed.wait()

    async with anyio.create_task_group() as group:
        for number in range(runs):
            group.start_soon(loop, f"r{number}")
        for _ in range(turns):
            while len(waiting) < runs:
                await anyio.lowlevel.checkpoint()
            db.execute("begin")
            db.executemany("insert into events values (?, ?, ?)", waiting)
            db.execute("commit")
            waiting.clear()
            before, committed = committed, anyio.Event()
            before.set()
    db.close()


class Cost(NamedTuple):
    """Of one turn."""

    wall_ms: float
    cpu_ms: float

    @property
    def per_s(self) -> float:
        return 1000 / self.wall_ms


def timed(work: Callable[[], object], turns: int) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    spent = time.perf_counter() - wall, time.process_time() - cpu
    return Cost(*(each * 1e3 / turns for each in spent))


def summary_of(costs: list[Cost]) -> str:
    """Median and range, because the machine's speed varies."""
    cpu, pace = [cost.cpu_ms for cost in costs], [cost.per_s for cost in costs]
    return (
        f"{statistics.median(cpu):.3f} ms CPU a turn ({min(cpu):.3f} to {max(cpu):.3f}),"
        f" {statistics.median(pace):,.0f} turns/s ({min(pace):,.0f} to {max(pace):,.0f})"
    )


def against(costs: list[Cost], floors: list[Cost]) -> str:
    ratios = [cost.cpu_ms / floor.cpu_ms for cost, floor in zip(costs, floors, strict=True)]
    return f"{statistics.median(ratios):.2f} x the floor's CPU"


def python() -> str:
    """The build of Python, with a measured speed, since not all PGO builds are marked."""
    arguments = sysconfig.get_config_var("CONFIG_ARGS") or ""
    said = "with PGO" if "--enable-optimizations" in arguments else "not marked as PGO"
    steps = 100_000
    took_s = min(timeit.repeat("number += 1", "number = 0", number=steps, repeat=20))
    step_ns = took_s / steps * 1e9
    return f"Python {platform.python_version()}, built {said}; adding 1 takes {step_ns:.1f} ns"


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.db*"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=sized(3000, 10))
    parser.add_argument("--runs", type=int, default=sized(500, 2))
    parser.add_argument("--rounds", type=int, default=sized(3, 1))
    arguments = parser.parse_args()
    print(python())
    print_load()
    raise_priority()
    with tempfile.TemporaryDirectory() as folder:
        of_tasks(Path(folder), arguments)
        of_rooms(Path(folder), arguments)


def of_tasks(root: Path, arguments: argparse.Namespace) -> None:
    turns, runs, rounds = arguments.turns, arguments.runs, range(arguments.rounds)
    anyio.run(drive, root / "warm", 1, WARM)
    costs, floors = [], []
    for number in rounds:
        costs.append(timed(partial(anyio.run, drive, root / f"one-{number}", 1, turns), turns))
        floors.append(timed(partial(floor, root / f"floor-{number}", turns), turns))
    ratio = size(root / "one-0") / (turns * len(REPLY))
    print(f"Q1  one run: {summary_of(costs)}; journal {ratio:.2f} x content")
    print(f"    floor:   {summary_of(floors)}; {against(costs, floors)}")
    show("turn of a task", costs, "0.3 ms", against(costs, floors))
    total, costs, floors = runs * EACH, [], []
    before = peak_kb()
    for number in rounds:
        costs.append(timed(partial(anyio.run, drive, root / f"many-{number}", runs, EACH), total))
        if number == 0:
            grown = peak_kb() - before
        shared = partial(anyio.run, shared_floor, root / f"shared-{number}", runs, EACH)
        floors.append(timed(shared, total))
    print(f"Q2  {runs} runs at once: {summary_of(costs)}, {grown / runs:.1f} KB a run")
    print(f"    floor:   {summary_of(floors)}; {against(costs, floors)}")
    show_pace(f"{runs} tasks at once", costs, "10,000/s", against(costs, floors))
    agent = CountingAgent()
    anyio.run(drive, root / "long", 1, LONG, agent)
    print(f"Q3  last tenth of {LONG - 1:,} turns / first: {growth(agent.cpu_at):.2f}")
    figure("Q3 last tenth of a long task", f"{growth(agent.cpu_at):.2f} x the first", goal="1.2 x")


def of_rooms(root: Path, arguments: argparse.Namespace) -> None:
    turns, runs, rounds = arguments.turns, arguments.runs, range(arguments.rounds)
    anyio.run(talk, root / "warm-room", 1, WARM)
    costs = [
        timed(partial(anyio.run, talk, root / f"room-{number}", 1, turns), turns)
        for number in rounds
    ]
    ratio = size(root / "room-0") / (turns * len(ENVELOPE))
    print(f"Q1  one room: {summary_of(costs)}; journal {ratio:.2f} x content")
    show("turn of a room", costs, "0.3 ms")
    before = peak_kb()
    costs = [timed(partial(anyio.run, talk, root / "rooms-0", runs, EACH), runs * EACH)]
    grown = peak_kb() - before
    costs += [
        timed(partial(anyio.run, talk, root / f"rooms-{number}", runs, EACH), runs * EACH)
        for number in rounds[1:]
    ]
    print(f"Q2  {runs} rooms at once: {summary_of(costs)}, {grown / runs:.1f} KB a room")
    show_pace(f"{runs} rooms at once", costs, "10,000/s")
    cpu_at: list[float] = []
    anyio.run(talk, root / "long-room", 1, LONG, cpu_at)
    print(f"Q3  last tenth of a room of {LONG - 1:,} turns / first: {growth(cpu_at):.2f}")
    figure("Q3 last tenth of a long room", f"{growth(cpu_at):.2f} x the first", goal="1.2 x")


def show(what: str, costs: list[Cost], goal: str, ratio: str = "") -> None:
    cpu_ms = statistics.median(cost.cpu_ms for cost in costs)
    figure(f"Q1 {what}", f"{cpu_ms:.3f} ms CPU", goal=goal, ratio=ratio)


def show_pace(what: str, costs: list[Cost], goal: str, ratio: str = "") -> None:
    pace = statistics.median(cost.per_s for cost in costs)
    figure(f"Q2 {what}", f"{pace:,.0f} turns/s", goal=goal, ratio=ratio)


def growth(cpu_at: list[float]) -> float:
    tenths = [after - before for before, after in pairwise(cpu_at[:: LONG // 10])]
    return tenths[-1] / tenths[0]


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
