"""Runs for fault tests (stops, kills, races): their specs and final checks."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import anyio

from allstop.core.brakes import Tally
from allstop.core.commands import Resume
from allstop.core.events import (
    Asked,
    ChildClosed,
    Closed,
    MoveEnded,
    MoveStarted,
    Opened,
    Reached,
    ThreadOpened,
)
from allstop.core.ids import HELM
from allstop.core.moves import RESUMABLE, Failed, Item, Outcome, Spawn, TurnDone, Usage
from allstop.core.replay import differences
from allstop.kinds import PILOTS
from allstop.ports import Abilities
from support.fan_out_pilot import FanOutPilot
from support.faulty_ports import CrashingJournal, IdempotentWorkspaces, SecondTimeChecks
from support.in_memory_world import DONE, InMemoryWorld, task

ALL_PILOTS = {**PILOTS, "fleet": FanOutPilot()}
TESTS = [{"name": "Tests", "run": "pytest"}]


def task_run_spec():
    return task(target="main", branch="allstop/t", checks=TESTS)


def fan_out_run_spec():
    def ship(name):
        return {**task_run_spec(), "task": name, "branch": f"allstop/{name}"}

    return {"tasks": {name: ship(f"ship-{name}") for name in "abc"}, "at_once": 2}


class FaultRun(NamedTuple):
    kind: str
    spec: Callable[[], dict]
    branches: tuple[str, ...]  # to be delivered, each once


FAULT_RUNS = {
    "task": FaultRun("task", task_run_spec, ("allstop/t",)),
    "fleet": FaultRun("fleet", fan_out_run_spec, tuple(f"allstop/ship-{name}" for name in "abc")),
}


class StatelessAgent:
    """Sends some items and completes each turn; has no state, so that it can be killed."""

    abilities = Abilities()

    def __init__(self):
        self.taken = 0

    async def take_turn(self, turn, watch):
        self.taken += 1
        if turn.thread is None:
            await watch.opened("t1")
        await anyio.sleep(2)
        await watch.saw(Item(kind="x", text="hm"))
        await anyio.sleep(2)
        return TurnDone(text=DONE, thread="t1", usage=Usage(output=10))

    async def close(self):
        pass


def fault_world(journal):
    """A world for any of the fault runs."""
    world = InMemoryWorld(journal, pilots=ALL_PILOTS)
    world.workspaces = IdempotentWorkspaces()
    world.checks = SecondTimeChecks(world.workspaces)
    world.agents["cli"] = StatelessAgent()
    return world


async def assert_finished(world, fault_run, root):
    """The run is done, nothing is lost or repeated, and replay gives the same state."""
    await assert_each_run_done_once(world)
    assert sorted(world.workspaces.brought) == sorted(fault_run.branches)
    await assert_children_add_up(world, root, fault_run)


async def assert_each_run_done_once(world):
    """Every run was opened once and is done, and replay gives the same decisions."""
    for head in await world.journal.heads():
        assert head.closed
        events = await world.events(head.run)
        assert [e.outcome for e in events if isinstance(e, Closed)] == [Outcome.DONE]
        assert sum(isinstance(e, Opened) for e in events) == 1
        assert differences(world.pilots[head.kind], events) == []
        assert_moves_alternate(events)


async def assert_each_child_started_once(world, root):
    """All other runs are children of this one, and it started none of them twice."""
    refs = spawned(await world.events(root))
    assert len(refs) == len(set(refs)) == len(await world.journal.heads()) - 1


def spawned(events):
    return [e.move.ref for e in events if isinstance(e, MoveStarted) and isinstance(e.move, Spawn)]


async def kill_at_every_write(numbers, make_world, run, assert_whole):
    """Kill `run(world)` at each of these writes, let it go on, and check what came of it.

    `make_world` gets the number of the write. Returns how often the run was killed: the numbers
    end when a run has fewer writes.
    """
    kills = 0
    for nth in numbers:
        world = make_world(nth)
        await run_until_death(world, run)
        if not world.journal.dead.is_set():
            break
        kills += 1
        world.journal = world.journal.disk()
        world.under_way = await moves_under_way(world)
        await run(world)
        await assert_whole(world)
    return kills


async def kill_again_and_again(make_world, run, first, later):
    """Kill the run after its write `first`, then after a few of its writes each time it goes on."""
    world = make_world(CrashingJournal(first, "after"))
    for deaths in itertools.count(1):
        await run_until_death(world, run)
        if not world.journal.dead.is_set():
            return deaths, world
        journal = CrashingJournal(later + deaths % 3, ("before", "after")[deaths % 2])
        journal._records = world.journal.disk()._records
        world.journal = journal
    raise AssertionError


async def stop_at_every_write(numbers, make_world, start, go_on, assert_whole):
    """Let a stop race with each of these writes of a run, resume it, and check what came of it.

    `start` opens the run in an engine, `go_on` lets it run. Returns how many stops there were.
    """
    stops = 0
    for nth in numbers:
        world = make_world(nth)
        async with world.running() as engine:
            await start(engine)
            await go_on(world, engine)
            stopped = world.journal.stopped
            if stopped is None:
                break
            stops += 1
            assert_nothing_began_and_no_word_counted(world.journal)
            await engine.command(stopped, Resume())
            await go_on(world, engine)
        await assert_whole(world)
    return stops


async def moves_under_way(world):
    """How many moves were begun and not ended when the process died."""
    states = [await world.state(head.run) for head in await world.journal.heads()]
    return sum(state.open_move is not None for state in states)


async def open_or_resume(world, engine, run, kind, spec):
    """Open the run, or resume all runs if it was opened before the process died."""
    if await world.journal.heads():
        await world.resume_all(engine)
    else:
        await engine.open(run, kind, spec)


async def run_until_death(world, run):
    """Let `run(world)` go on until its journal dies, or for two virtual hours."""
    async with anyio.create_task_group() as group:
        group.start_soon(run, world)
        with anyio.move_on_after(7200):
            await world.journal.dead.wait()
        group.cancel_scope.cancel()


def assert_moves_alternate(events):
    open_moves = []
    for event in events:
        if isinstance(event, MoveStarted):
            assert not open_moves, "two moves at once"
            open_moves.append(event.id)
        elif isinstance(event, MoveEnded):
            assert [event.id] == open_moves, "an end without a start"
            open_moves.clear()


async def assert_children_add_up(world, root, fault_run):
    if fault_run.kind != "fleet":
        return
    events = await world.events(root)
    assert sorted(spawned(events)) == ["a", "b", "c"]
    assert sorted(e.ref for e in events if isinstance(e, ChildClosed)) == ["a", "b", "c"]
    total = Tally()
    for ref in "abc":
        total = total.plus((await world.state(f"{root}/{ref}")).tally)
    tally = (await world.state(root)).tally
    assert (tally.turns, tally.tokens) == (total.turns, total.tokens)


def assert_nothing_began_and_no_word_counted(journal):
    """After the stop, no move started and no agent's message was recorded in the stopped runs."""
    stopped = {entry.run for entry in journal.writes[journal.stopped_at][1]}
    for _, entries in journal.writes[journal.stopped_at + 1 :]:
        for entry in entries:
            run, event = entry.run, entry.event
            if run == HELM or not (HELM in stopped or run in stopped):
                continue
            assert not isinstance(event, MoveStarted | ThreadOpened | Reached | Asked), (run, event)
            if isinstance(event, MoveEnded):
                assert isinstance(event.result, Failed), (run, event)
                assert event.result.kind in RESUMABLE
            if isinstance(event, Opened):
                assert run not in stopped, "a child was born after the stop"
