"""Q16: runs are killed before and after every write, and resumed."""

import itertools

import anyio
import pytest

from allstop.core.events import MoveEnded
from allstop.core.moves import TurnDone
from support.fault_scenarios import FAULT_RUNS, assert_finished, fault_world
from support.faulty_ports import CrashingJournal

LONG_S = 3600.0


async def run_to_end(world, fault_run):
    """Open or resume the run until it ends or the process dies."""
    async with world.running() as engine:
        if await world.journal.heads():
            await world.resume_all(engine)
        else:
            await engine.open("r", fault_run.kind, fault_run.spec())
        await anyio.sleep(LONG_S)


async def sail_until_death(world, fault_run):
    async with anyio.create_task_group() as group:
        group.start_soon(run_to_end, world, fault_run)
        with anyio.move_on_after(2 * LONG_S):
            await world.journal.dead.wait()
        group.cancel_scope.cancel()


async def turns_on_record(world):
    heads = await world.journal.heads()
    events = [event for head in heads for event in await world.events(head.run)]
    return sum(isinstance(e, MoveEnded) and isinstance(e.result, TurnDone) for e in events)


async def moves_under_way(world):
    states = [await world.state(head.run) for head in await world.journal.heads()]
    return sum(state.open_move is not None for state in states)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", sorted(FAULT_RUNS))
async def test_q16_killed_at_any_write_nothing_is_lost_and_nothing_is_done_twice(name, when):
    fault_run = FAULT_RUNS[name]
    kills = 0
    for nth in itertools.count(1):
        world = fault_world(CrashingJournal(nth, when))
        await sail_until_death(world, fault_run)
        if not world.journal.dead.is_set():
            break
        kills += 1
        world.journal = world.journal.disk()
        at_work = await moves_under_way(world)
        await run_to_end(world, fault_run)

        await assert_finished(world, fault_run, "r")
        lost = world.agents["cli"].taken - await turns_on_record(world)
        assert lost <= at_work, "a turn that was on record was taken again"

    assert kills > (10 if name == "task" else 35)


@pytest.mark.parametrize("name", sorted(FAULT_RUNS))
async def test_q16_killed_again_and_again_it_still_arrives(name):
    """Every process gets only a few writes further than the one before it."""
    fault_run = FAULT_RUNS[name]
    world = fault_world(CrashingJournal(3, "after"))
    for deaths in itertools.count(1):
        await sail_until_death(world, fault_run)
        if not world.journal.dead.is_set():
            break
        # enough for each of two children to take its workspace up and its turn to its end
        journal = CrashingJournal(7 + deaths % 3, ("before", "after")[deaths % 2])
        journal._records = world.journal.disk()._records
        world.journal = journal

    assert deaths >= 3
    await assert_finished(world, fault_run, "r")
