"""K2: Allstop wins every race: it is written just before each write in turn."""

import anyio
import pytest

from allstop.core.commands import Resume
from allstop.core.events import Halted
from allstop.core.ids import HELM
from allstop.engine.steps import Waiting
from support.fault_scenarios import (
    FAULT_RUNS,
    assert_finished,
    assert_nothing_began_and_no_word_counted,
    fault_world,
)
from support.faulty_ports import RacingJournal
from support.sweeps import every

LONG_S = 3600.0


@pytest.mark.parametrize("where", ["helm", "root", "writer"])
@pytest.mark.parametrize("name", sorted(FAULT_RUNS))
async def test_k2_allstop_wins_every_race_with_every_write(name, where):
    """After the stop nothing starts and no agent message counts; after Resume all is done once."""
    fault_run = FAULT_RUNS[name]
    raced = 0
    for nth in every(3):
        world = fault_world(RacingJournal(nth, where))
        async with world.running() as engine:
            await engine.open("r", fault_run.kind, fault_run.spec())
            await anyio.sleep(LONG_S)
            stopped = world.journal.stopped
            if stopped is None:
                break
            raced += 1
            assert_nothing_began_and_no_word_counted(world.journal)
            if stopped == HELM:
                assert await engine.rested("r") == Waiting("allstop")
                assert [type(e) for e in await world.events(HELM)].count(Halted) == 1
            await engine.command(stopped, Resume())
            await anyio.sleep(LONG_S)
        await assert_finished(world, fault_run, "r")

    assert raced > (3 if name == "task" else 11)
    await assert_finished(world, fault_run, "r")
