"""Q7, S7: loads a board of 100,000 tasks, picks the next task after a change, and forecasts.

Prints figures; asserts nothing. The journal is real and written by an import.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import anyio
from msgspec import to_builtins

from allstop.app.board import commands
from allstop.app.board.driver import drive_board, prepare
from allstop.app.project import Project
from allstop.board.forecast import MOST_TASKS, forecast, history
from allstop.board.state import BoardState
from allstop.core import run as runs
from allstop.core.board_specs import BoardSpec, ReviewMode
from allstop.core.brakes import Tally
from allstop.core.commands import AddTasks, EditTask, Equip
from allstop.core.events import ChildClosed, Commanded, Event, MoveEnded, MoveStarted, Opened
from allstop.core.ids import BOARD, AgentName, MoveId, child_of
from allstop.core.moves import Outcome, Spawn, Spawned
from allstop.core.run import RunState
from allstop.core.tasks import Changes, NewTask
from allstop.settings.sources.environment import Environment
from common import figure, print_load, repository, sized

NOW = datetime(2025, 1, 1, tzinfo=UTC)
TAGS = ("critical", "quick-win", "docs", "api", "ui", "refactor")
SPEC = BoardSpec(target="main", agents=(AgentName("a"),), slots=4, review=ReviewMode.SKIP)

State = RunState[BoardState]
UNUSED = Tally()


def tangled(number: int, chance: random.Random) -> NewTask:
    """A task in one of a hundred operations, with up to three dependencies and two tags."""
    needs = chance.sample(
        range(max(1, number - 1000), number), k=min(number - 1, chance.choice((0, 0, 1, 2, 3)))
    )
    return NewTask(
        id=f"T{number}",
        title=f"Do the {number}th thing that there is to do",
        body="As it says in the title, and so that the tests pass.",
        operation=f"operation-{number % 100}",
        needs=tuple(f"T{need}" for need in needs),
        tags=tuple(chance.sample(TAGS, k=chance.randrange(3))),
        priority=chance.randrange(5),
        source=f"tasks.jsonl#{number}",
    )


def many(count: int) -> list[NewTask]:
    chance = random.Random(7)
    return [tangled(number, chance) for number in range(1, count + 1)]


# --- loading ----------------------------------------------------------------------------------


def at_home(folder: Path) -> Project:
    return Project(folder, Environment(home=folder / "home"))


class Took(NamedTuple):
    """CPU comes first, so that min() gives the lowest CPU time."""

    cpu_s: float
    wall_s: float

    def __str__(self) -> str:
        return f"{self.wall_s:.2f} s ({self.cpu_s:.2f} s CPU)"


def timed(work: Callable[[], object]) -> Took:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Took(time.process_time() - cpu, time.perf_counter() - wall)


def load(folder: Path) -> State:
    """Load the board as every command does."""

    async def read() -> State:
        project = at_home(folder)
        try:
            return (await commands.read(project)).run
        finally:
            project.close()

    return anyio.run(read)


async def read_only(folder: Path) -> None:
    project = at_home(folder)
    await project.journal.read(BOARD)
    project.close()


async def take_to_work(folder: Path) -> None:
    """The part of `allstop run` from reading the board to the first move."""
    project = at_home(folder)
    spec = BoardSpec(target="main")  # without agents it waits at once
    known = await prepare(project, spec, lambda state: [])
    async with drive_board(project, spec, known, AsyncExitStack(), print) as session:
        await session.runtime.engine.idle()
    project.close()


def bench_loading(folder: Path, count: int, rounds: int) -> State:
    repository(folder, {"README.md": "x\n"})
    project = at_home(folder)
    took = timed(lambda: anyio.run(commands.import_tasks, project, many(count)))
    project.close()
    size_mb = (folder / ".allstop" / "journal.db").stat().st_size / 1e6
    print(f"Q7  {count:,} tasks are imported in {took}; the journal has {size_mb:.0f} MB")
    loads = [timed(lambda: load(folder)) for _ in range(rounds)]
    reads = [timed(lambda: anyio.run(read_only, folder)) for _ in range(rounds)]
    print(
        f"    load the board: best {min(loads)}, most {max(loads)} (goal 3 s);"
        f" of it reading and decoding {min(reads)}"
    )
    ratio = f"{min(loads).cpu_s / min(reads).cpu_s:.1f} x reading it"
    figure(f"Q7 load {count:,} tasks", f"{min(loads).wall_s:.2f} s", goal="3 s", ratio=ratio)
    return load(folder)


def bench_taking(folder: Path) -> None:
    took = timed(lambda: anyio.run(take_to_work, folder))
    print(f"    from `allstop run` until the board is driven: {took}")


# --- picking ----------------------------------------------------------------------------------


class BoardClock:
    """Folds events into a board in memory and measures the time until the next move."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.took_ms: dict[str, list[float]] = defaultdict(list)
        self.cpu_ms: dict[str, list[float]] = defaultdict(list)
        self.move = runs.choose(commands.PILOT, state, NOW)

    def write(self, what: str, *events: Event) -> float:
        began, cpu = time.perf_counter(), time.thread_time()
        for event in events:
            self.state = runs.evolve(commands.PILOT, self.state, event)
        self.move = runs.choose(commands.PILOT, self.state, NOW)
        took = (time.perf_counter() - began) * 1000
        self.took_ms[what].append(took)
        self.cpu_ms[what].append((time.thread_time() - cpu) * 1000)
        return took

    def start(self, what: str) -> Spawn:
        """Open the child run that the board chose."""
        spawn = self.move
        assert isinstance(spawn, Spawn), spawn
        move_id = MoveId(self.state.moves + 1)
        spawned = Spawned(run=child_of(BOARD, spawn.ref))
        self.write(
            what,
            MoveStarted(at=NOW, id=move_id, move=spawn),
            MoveEnded(at=NOW, id=move_id, result=spawned),
        )
        return spawn

    def close(self, what: str, spawn: Spawn, tally: Tally = UNUSED) -> float:
        run = child_of(BOARD, spawn.ref)
        facts = {"tree": "t", "commit": "c"}
        return self.write(
            what,
            ChildClosed(
                at=NOW, ref=spawn.ref, run=run, outcome=Outcome.DONE, tally=tally, facts=facts
            ),
        )

    def finish_one(self) -> float:
        """From start to merged; the last change is the one that makes others ready."""
        task = self.start("start")
        self.close("verified", task)
        return self.close("merged", self.start("merge"))


def idle_edit(state: State, chance: random.Random) -> Iterator[str]:
    """Ids of pending tasks."""
    board = state.pilot.board
    while True:
        task = board.get(f"T{chance.randrange(board.added // 2, board.added)}")
        if task is not None and not task.open and task.status == "pending":
            yield task.id


def bench_picking(state: State, rounds: int) -> None:
    chance = random.Random(11)
    clock = BoardClock(
        runs.evolve(commands.PILOT, state, Commanded(at=NOW, command=Equip(spec=SPEC)))
    )
    added = state.pilot.board.added
    for number in range(added + 1, added + rounds + 1):
        clock.finish_one()
        clock.write("add", Commanded(at=NOW, command=AddTasks(tasks=(tangled(number, chance),))))
        task = next(idle_edit(clock.state, chance))
        changes = Changes(priority=chance.randrange(9), tags=("critical",))
        clock.write("edit", Commanded(at=NOW, command=EditTask(task=task, changes=changes)))
        needs = (f"T{int(task[1:]) - 1}", f"T{int(task[1:]) - 7}")
        clock.write(
            "edit needs",
            Commanded(at=NOW, command=EditTask(task=task, changes=Changes(needs=needs))),
        )
    slowest = max(statistics.median(took) for took in clock.took_ms.values())
    figure(f"Q7 next of {added:,} tasks", f"{slowest:.3f} ms", goal="1 ms")
    for what, took in clock.took_ms.items():
        print(
            f"    next after {what:<10} median {statistics.median(took):6.3f} ms,"
            f" worst of {len(took):,} {max(took):7.3f} ms ({max(clock.cpu_ms[what]):.3f} ms CPU)"
        )


# --- the hard cases ---------------------------------------------------------------------------


def board_of(tasks: list[NewTask]) -> BoardClock:
    state = runs.begin(commands.PILOT, Opened(at=NOW, kind="board", spec=to_builtins(SPEC)))
    for start in range(0, len(tasks), commands.TASKS_PER_EVENT):
        command = AddTasks(tasks=tuple(tasks[start : start + commands.TASKS_PER_EVENT]))
        state = runs.evolve(commands.PILOT, state, Commanded(at=NOW, command=command))
    return BoardClock(state)


def bench_flip(count: int) -> None:
    """When half of an operation is done, all its tasks get a bonus at once."""
    half = count // 2
    tasks = [
        NewTask(id=f"T{n}", title="x", operation="one", done=n <= half - 2, priority=n % 5)
        for n in range(1, count + 1)
    ]
    clock = board_of(tasks)
    took = []
    for _ in range(6):
        before = clock.state.pilot.board.operations["one"].bonus
        ms = clock.finish_one()
        flipped = clock.state.pilot.board.operations["one"].bonus != before
        took.append(f"{ms:.3f}{' (flips)' if flipped else ''}")
    print(f"    {count:,} tasks in one operation, around the bonus: {', '.join(took)} ms")


def bench_hub(count: int) -> None:
    """When a task that half of the others depend on is done, all of them become ready."""
    tasks = [NewTask(id="T1", title="hub", tags=("critical",))]
    tasks += [
        NewTask(
            id=f"T{n}",
            title="x",
            operation=f"operation-{n % 100}",
            needs=("T1",) if n % 2 == 0 else (),
            priority=n % 5,
        )
        for n in range(2, count + 1)
    ]
    built = time.perf_counter()
    clock = board_of(tasks)
    built = time.perf_counter() - built
    took = clock.finish_one()
    assert clock.state.pilot.board["T1"].merged, "it has the highest score"
    print(
        f"    a task that {count // 2:,} others need: merged after {took:,.0f} ms,"
        f" {took * 2000 / count:.1f} µs for each that becomes ready; the start of it took"
        f" {max(clock.took_ms['start']):.3f} ms; the board was built in {built:.2f} s"
    )


# --- forecast ---


def bench_forecast(count: int, finished: int) -> None:
    """A forecast of the open tasks, from a board whose attempts took random times."""
    chance = random.Random(3)
    tasks = [
        NewTask(id=f"T{n}", title="x", tags=(chance.choice(TAGS),)) for n in range(1, finished + 1)
    ]
    clock = board_of(tasks)
    for _ in range(finished):
        spent = Tally(turns=2, cost_microusd=70_000, busy_s=chance.lognormvariate(6, 0.6))
        clock.close("verified", clock.start("start"), spent)
        clock.close("merged", clock.start("merge"))
    new = [
        NewTask(
            id=f"N{n}",
            title="x",
            tags=(chance.choice(TAGS),),
            needs=(f"N{n - 1}",) if n % 3 == 0 else (),
        )
        for n in range(1, count + 1)
    ]
    clock.write("add", Commanded(at=NOW, command=AddTasks(tasks=tuple(new))))
    board = clock.state.pilot.board

    def make() -> None:
        every = board.tasks()
        forecast(board, every, history(every), SPEC, NOW, chance=random.Random(0))

    made = [timed(make) for _ in range(3)]
    print(f"S7  a forecast of {count:,} tasks from {finished:,} attempts: {min(made)}")
    figure(f"S7 forecast of {count:,} tasks", f"{min(made).wall_s:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=sized(100_000, 300))
    parser.add_argument("--rounds", type=int, default=sized(500, 5))
    arguments = parser.parse_args()
    print_load()
    with tempfile.TemporaryDirectory() as name:
        state = bench_loading(Path(name), arguments.tasks, rounds=3)
        bench_picking(state, arguments.rounds)
        del state
        bench_taking(Path(name))
    bench_flip(arguments.tasks)
    bench_hub(arguments.tasks)
    bench_forecast(sized(200, 20), sized(300, 12))
    if arguments.tasks >= MOST_TASKS:
        bench_forecast(MOST_TASKS, 300)


if __name__ == "__main__":
    main()
