"""Q1, Q2, Q3: what a durable turn costs with an agent that takes no time.

Prints figures and ratios; asserts nothing. The floor is a hand-written loop that inserts the same
bytes into the same kind of SQLite file, one commit a turn.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import tempfile
import time
from pathlib import Path

import anyio

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.moves import TurnDone, Usage
from allstop.engines.local import LocalEngine
from allstop.loop.hands import Hands
from allstop.pilots import PILOTS
from allstop.ports import Abilities, Isolation

EACH = 60  # turns of each of many runs
REPLY = "word " * 118  # 590 bytes, as a room's message has


class InstantAgent:
    abilities = Abilities()

    async def take_turn(self, turn, watch):
        return TurnDone(text=REPLY, thread="t", usage=Usage(input=500, output=120))

    async def close(self):
        pass


class NoLauncher:
    isolation = Isolation(boxed=True, allowed=True, how="nothing is launched")

    def strike(self, label):
        pass

    def killed(self):
        return ()


async def drive(folder: Path, runs: int, turns: int) -> None:
    journal = SqliteJournal(folder, SystemClock())
    launcher = NoLauncher()
    hands = Hands({"a": InstantAgent()}, checks=None, workspaces=None, launcher=launcher)
    engine = LocalEngine(
        journal=journal, hands=hands, clock=SystemClock(), pilots=PILOTS, launcher=launcher
    )
    spec = {"task": "t", "goal": "go on", "agents": ["a"], "iterations": turns}
    async with engine.serving():
        async with anyio.create_task_group() as group:
            for number in range(runs):
                group.start_soon(engine.open, f"r{number}", "task", spec)
        for number in range(runs):
            await engine.rested(f"r{number}")
    journal.close()


def floor(folder: Path, turns: int) -> None:
    folder.mkdir()
    db = sqlite3.connect(folder / "floor.db", isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    db.execute("create table events (run text, seq integer, event blob, primary key (run, seq))")
    for number in range(turns):
        db.execute("begin")
        db.execute("insert into events values ('r', ?, ?)", (number, REPLY))
        db.execute("commit")
    db.close()


def timed(work) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.db*"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        turns = arguments.turns
        wall, cpu = timed(lambda: anyio.run(drive, root / "warm", 1, 50))
        wall, cpu = timed(lambda: anyio.run(drive, root / "one", 1, turns))
        floor_wall, floor_cpu = timed(lambda: floor(root / "floor", turns))
        ratio = size(root / "one") / (turns * len(REPLY))
        print(f"Q1  one run: {cpu / turns * 1e3:.3f} ms CPU a turn, {turns / wall:,.0f} turns/s")
        print(
            f"    floor:   {floor_cpu / turns * 1e3:.3f} ms CPU a turn, {turns / floor_wall:,.0f} turns/s"
        )
        print(
            f"    ratio:   {cpu / floor_cpu:.2f} x the floor's CPU; journal {ratio:.2f} x content"
        )
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wall, cpu = timed(lambda: anyio.run(drive, root / "many", arguments.runs, EACH))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        total = arguments.runs * EACH
        print(
            f"Q2  {arguments.runs} runs at once: {total / wall:,.0f} turns/s,"
            f" {cpu / total * 1e3:.3f} ms CPU a turn, {(after - before) / arguments.runs:.1f} KB a run"
        )
        tenth = 1000
        _, first = timed(lambda: anyio.run(drive, root / "short", 1, tenth))
        _, whole = timed(lambda: anyio.run(drive, root / "long", 1, 10 * tenth))
        _, nine = timed(lambda: anyio.run(drive, root / "nine", 1, 9 * tenth))
        print(f"Q3  last tenth of 10,000 turns / first: {(whole - nine) / first:.2f}")


if __name__ == "__main__":
    main()
