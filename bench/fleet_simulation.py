"""Z11: a fleet in virtual time: dispatch latency, statements of the database, size of the journal.

Real control room and workers on a simulated store; agents take a random time of five minutes on
average. `--tasks 100000` is the long form; by default there are fewer tasks on as many slots.
Prints figures; asserts nothing but that every task is done.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import time
from pathlib import Path

import anyio
import msgspec
import trio
import trio.testing
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from allstop.core.commands import AddTasks
from allstop.core.events import Closed, Commanded, MoveStarted, Opened
from allstop.core.ids import BOARD
from allstop.core.moves import TurnDone, Usage
from allstop.core.tasks import NewTask
from allstop.engine.handout import ControlEngine
from allstop.engine.hands import Hands
from allstop.engine.worker import Lane, WorkerEngine
from allstop.kinds import PILOTS
from allstop.ports import Abilities, Entry
from allstop.testing.virtual_clock import LoopClock
from common import figure, print_load, rss_mb, sized
from simulation.shared_store import SharedDisk, SharedPort, SharedQueue, Weather
from support.in_memory_world import FakeChecks, FakeLauncher, FakeWorkspaces

MEAN_S = 300.0
ROUND_TRIP_S = 0.002


class Agent:
    abilities = Abilities(usage=True)

    async def take_turn(self, turn, watch):
        await anyio.sleep(random.expovariate(1 / MEAN_S))
        return TurnDone(text="<promise>COMPLETE</promise>", thread="t", usage=Usage(output=1000))

    async def close(self):
        pass


class Workspaces(FakeWorkspaces):
    """With names of commits as long as git's."""

    async def integrate(self, *words, **more):
        made = await super().integrate(*words, **more)
        return replace(made, commit=hashlib.sha1(made.commit.encode()).hexdigest())


class Record:
    """What is written, as the store sees it."""

    def __init__(self):
        self.bytes = self.events = self.done = 0
        self.opened = {}
        self.latencies = []

    def __call__(self, entries):
        for entry in entries:
            self.events += 1
            self.bytes += len(msgspec.json.encode(entry.event))
            match entry.event:
                case Opened(kind="task"):
                    self.opened[entry.run] = anyio.current_time()
                case MoveStarted() if entry.run in self.opened:
                    self.latencies.append(anyio.current_time() - self.opened.pop(entry.run))
                case Closed() if ".merge" not in entry.run:
                    self.done += 1


def needs(kind):
    return frozenset([kind])


async def simulate(
    workers: int, slots: int, tasks: int, record: Record
) -> tuple[float, SharedDisk]:
    disk = SharedDisk(record)
    disk.MOST_AT_ONCE = 10**9
    weather = Weather(random.Random(1), slowest_s=ROUND_TRIP_S)
    machines = []

    def tell():
        for machine in machines:
            machine.tell()

    def parts(name):
        port = SharedPort(disk, name, weather)
        launcher = FakeLauncher()
        hands = Hands(
            {"mine": Agent()}, checks=FakeChecks(), workspaces=workspaces, launcher=launcher
        )
        return {"journal": port, "hands": hands, "clock": LoopClock(), "pilots": PILOTS,
                "launcher": launcher, "name": name, "dispatch": SharedQueue(port, weather, tell)}  # fmt: skip

    workspaces = Workspaces()
    lanes = (Lane("task", slots, needs("task")), Lane("merge", 1, needs("merge")))
    room = ControlEngine(needs_of=lambda opened: needs(opened.kind), **parts("room"))
    spec = {"target": "main", "agents": ["mine"], "slots": workers * slots, "errors": 0,
            "mode": "autopilot", "review": "skip", "merge": True, "batch": 8}  # fmt: skip
    async with anyio.create_task_group() as group:

        async def live(engine):
            async with engine.serving():
                await anyio.sleep_forever()

        for number in range(workers):
            machines.append(WorkerEngine(lanes=lanes, slots=slots, **parts(f"worker {number}")))
            group.start_soon(live, machines[-1])
        async with room.serving():
            await room.open(BOARD, "board", spec)
            begins = anyio.current_time()
            wanted = tuple(NewTask(id=f"T{n}", title=f"Do {n}") for n in range(tasks))
            for first in range(0, tasks, 500):
                command = Commanded(
                    at=LoopClock().now(), command=AddTasks(tasks=wanted[first : first + 500])
                )
                await disk.append(Entry(BOARD, command))
            while record.done < tasks:
                await anyio.sleep(10)
            took_s = anyio.current_time() - begins
            group.cancel_scope.cancel()
    return took_s, disk


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=sized(2000, 30))
    parser.add_argument("--workers", type=int, default=sized(25, 3))
    parser.add_argument("--slots", type=int, default=sized(40, 2))
    given = parser.parse_args()
    random.seed(1)
    print_load()
    record, began = Record(), time.monotonic()
    took_s, disk = trio.run(
        simulate, given.workers, given.slots, given.tasks, record,
        clock=trio.testing.MockClock(autojump_threshold=0),
    )  # fmt: skip
    seconds = time.monotonic() - began
    every = given.workers * given.slots
    print(f"    {given.tasks} tasks on {every} slots of {given.workers} workers: {took_s / 3600:.1f} h"
          f" of virtual time in {seconds:.0f} s; {rss_mb():.0f} MB")  # fmt: skip
    name = f"Z11 simulated, {every} slots, {given.tasks} tasks"
    for when, some in (
        ("at the start", record.latencies[:every]),
        ("later", record.latencies[every:]),
    ):
        late = sorted(some)
        p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99)]
        figure(f"{name}: dispatch {when}, p50, p99", f"{p50 * 1000:.0f} ms, {p99 * 1000:.0f} ms")
    total = sum(disk.statements.values())
    figure(f"{name}: statements", f"{total / took_s:.0f}/s, {total / given.tasks:.0f} a task")
    print(
        "    "
        + ", ".join(
            f"{kind} {count / took_s:.1f}/s" for kind, count in disk.statements.most_common()
        )
    )
    size = record.bytes / given.tasks
    figure(
        f"{name}: journal",
        f"{record.bytes / 1e6:.0f} MB, {size:.0f} bytes and {record.events / given.tasks:.0f} events a task",
    )


if __name__ == "__main__":
    main()
