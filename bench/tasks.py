"""Q4, Q5: the cost of tasks with an instant agent: workspaces, gate, merge and memory.

Prints figures and ratios; asserts nothing. Each board runs in its own process, with the real
journal, git and sandbox.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable
from pathlib import Path
from typing import NamedTuple, TypeVar

import anyio

from allstop.adapters.agents.command import CommandAgent
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app import runtime
from allstop.core.moves import Failed
from allstop.core.prompt import prompt
from allstop.core.tasks import NewTask
from allstop.ports import Box, Live, Turn
from common import COMMITS, adopt_orphans, figure, print_load, project_in, raise_priority, sized
from common.boards import (
    Figures,
    measured,
    prepare,
    print_programs,
    programs_cpu_s,
    reap_orphans,
    tasks,
)

T = TypeVar("T")

WITHOUT_AGENT = ("OpenWorkspace", "Integrate", "Land")


def in_turn(
    rounds: int, agent: str, some: list[NewTask], slots: tuple[int, ...], **how: object
) -> list[Figures]:
    """The fastest board for each number of slots, measured alternately as the machine's speed varies.

    Files are removed only at the end: after recent deletions, ext4 takes up to a millisecond longer
    to create a file.
    """
    found: dict[int, list[Figures]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        for number in range(rounds):
            for each in slots:
                folder = Path(name, f"{number}-{each}")
                prepare(folder, agent, some, **how)
                found[each].append(measured(folder, each))
    return [min(found[each], key=lambda figures: figures.wall_s) for each in slots]


def print_disk() -> None:
    """Print the cost of creating a file, which is most of a clone's work."""
    with tempfile.TemporaryDirectory() as name:
        began = time.process_time()
        for number in range(50):
            Path(name, str(number)).touch()
        took = (time.process_time() - began) * 1000 / 50
    print(f"    creating a file in {tempfile.gettempdir()} takes {took:.2f} ms CPU")


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
    figure(
        f"Q5 {count} instant tasks, 4 slots",
        f"{four.wall_s:.2f} s",
        ratio=f"{four.wall_s / one.wall_s:.2f} x one slot",
    )
    print(f"    4 slots / 1: {four.wall_s / one.wall_s:.2f} of the time")
    for slots, found in ((1, one), (4, four)):
        spent = sum(sum(found.moves_ms.get(kind, [])) for kind in WITHOUT_AGENT) / count
        figure(
            f"Q5 workspace and merge, {slots} slot{'s' * (slots > 1)}",
            f"{spent:.0f} ms",
            goal="60 ms",
        )
        print(
            f"    {slots} slot{'s' * (slots > 1)}: workspace and merge alone {spent:.0f} ms a task"
            f" (goal 60)"
        )
        print_moves(found, count)
    print_programs(one.programs, count)
    bench_steps(count)


def print_moves(found: Figures, count: int) -> None:
    for kind, took in found.moves_ms.items():
        print(
            f"      {kind:<14} {len(took) / count:4.1f} a task, median"
            f" {statistics.median(took):6.1f} ms, least {min(took):6.1f}, most {max(took):6.1f}"
        )


class Step(NamedTuple):
    wall_ms: float
    own_ms: float  # CPU
    programs_ms: float  # CPU


async def one_by_one(folder: Path, count: int) -> dict[str, list[Step]]:
    """The operations of a task alone, without journal and other tasks."""
    project, room = project_in(folder), Box(home=str(folder))
    launcher = await make_launcher("on", project.live)
    workspaces = await runtime.open_workspaces(project, launcher)
    agent = CommandAgent(
        ("sh", "-c", COMMITS), launcher=launcher, fallback_box=room, clock=project.clock
    )
    found: dict[str, list[Step]] = defaultdict(list)

    async def step(what: str, doing: Awaitable[T]) -> T:
        wall, own, programs = time.perf_counter(), time.process_time(), programs_cpu_s()
        result = await doing
        ended, used = time.perf_counter(), time.process_time()
        assert not isinstance(result, Failed), result
        reap_orphans()
        now = ended, used, programs_cpu_s()
        took = zip(now, (wall, own, programs), strict=True)
        found[what].append(Step(*((after - before) * 1000 for after, before in took)))
        return result

    for number in range(count):
        name, label = f"S{number}", f"board/S{number}"
        await step("open", workspaces.open(name, "main", label))
        turn = Turn(run=label, prompt=prompt("Do it."), place=workspaces.box_of(name))
        await step("agent", agent.take_turn(turn, SilentWatch()))
        await step("keep", workspaces.keep(name, label))
        await step("candidate", workspaces.candidate(name, label))
        made = await step("integrate", workspaces.integrate(name, "main", "Merge", label))
        await step("land", workspaces.land("main", made.tip, made.commit))
    return found


class SilentWatch:
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


def bench_memory(count: int) -> None:
    (found,) = in_turn(1, COMMITS, tasks(count), (2,), gate="", merge=False)
    shown = ", ".join(f"{mb:.1f} MB after {tasks}" for tasks, mb in sorted(found.rss_mb.items()))
    figure(
        f"Q4 memory after {found.done} tasks", f"{max(found.rss_mb.values()):.0f} MB", goal="64 MB"
    )
    print(f"Q4  RSS over {found.done} tasks (goal 64 MB, flat): {shown}; {found.wall_s:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["merging", "memory"])
    parser.add_argument("--tasks", type=int, default=sized(20, 1))
    parser.add_argument("--many", type=int, default=sized(400, 1))
    parser.add_argument("--rounds", type=int, default=sized(3, 1))
    arguments = parser.parse_args()
    print_load()
    print_disk()
    raise_priority()
    adopt_orphans()
    if arguments.only in (None, "memory"):
        bench_memory(arguments.many)
    if arguments.only in (None, "merging"):
        bench_merging(arguments.tasks, arguments.rounds)


if __name__ == "__main__":
    main()
