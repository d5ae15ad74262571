"""K5: time limits don't count the time for which a run was frozen."""

import anyio
import pytest

from allstop.core.brakes import Limits
from allstop.core.commands import Freeze, Thaw
from allstop.core.events import MoveEnded
from allstop.core.ids import HELM
from allstop.core.moves import Outcome, TurnDone
from support.in_memory_world import InMemoryWorld, task

DONE = "done\n<promise>COMPLETE</promise>"


async def held(world, run):
    events = await world.events(run)
    return [e.held_s for e in events if isinstance(e, MoveEnded) and isinstance(e.result, TurnDone)]


@pytest.mark.parametrize("said_to", ["t", HELM])
async def test_k5_the_time_a_turn_is_frozen_is_no_work(said_to):
    world = InMemoryWorld()
    world.agent("cli", 50.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task(), limits=Limits(busy_s=30.0))
        await anyio.sleep(10)
        await engine.command(said_to, Freeze())
        await anyio.sleep(30)
        await engine.command(said_to, Thaw())
        assert await engine.rested("t") is Outcome.DONE

    state = await world.state("t")
    assert await held(world, "t") == [pytest.approx(30, abs=0.1)]
    assert state.tally.busy_s == pytest.approx(20, abs=0.1)
    assert state.pilot.busy_s == pytest.approx(20, abs=0.1)


async def test_k5_a_turn_that_nothing_held_says_nothing_of_it():
    world = InMemoryWorld()
    world.agent("cli", 50.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        assert await engine.rested("t") is Outcome.DONE

    assert await held(world, "t") == [0.0]
    assert (await world.state("t")).tally.busy_s == pytest.approx(50, abs=0.1)


async def test_k5_a_turn_that_is_stopped_while_it_is_frozen_was_held_to_its_end():
    world = InMemoryWorld()
    world.agent("cli", 5000.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        await engine.command("t", Freeze())
        await anyio.sleep(1000)
        await engine.allstop()
        await anyio.sleep(1)

    assert (await world.state("t")).tally.busy_s == pytest.approx(10, abs=0.1)
