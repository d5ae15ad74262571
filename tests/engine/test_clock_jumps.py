"""Q19: the system clock jumps while boards and rooms run."""

from datetime import timedelta

import anyio
import pytest

from allstop.core.commands import Allstop, Resume
from allstop.core.events import Commanded, Halted
from allstop.core.ids import HELM
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.testing.virtual_clock import LoopClock
from support.board_runs import assert_all_done, board_spec, board_world, person
from support.faulty_ports import GuardedJournal

JUMPS = {
    "a day back": timedelta(days=-1),
    "an hour back": timedelta(hours=-1),
    "an hour forward": timedelta(hours=1),
    "forty days forward": timedelta(days=40),
}
LONG_S = 3600.0
NO_LIMIT_S = 1e9
"""A clock that is set forward uses up a limit on time, and the task then waits for a person."""


class WanderingClock(LoopClock):
    """The event loop's time continues; the wall clock is set by the test."""

    def __init__(self):
        self.offset = timedelta()

    def now(self):
        return super().now() + self.offset


def engine_with(world, clock):
    hands = Hands(
        world.agents, checks=world.checks, workspaces=world.workspaces, launcher=world.launcher
    )
    return LocalEngine(
        journal=world.journal,
        hands=hands,
        clock=clock,
        pilots=world.pilots,
        launcher=world.launcher,
    )


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("after_s", [1, 5, 13, 21, 34])
async def test_q19_a_board_arrives_whatever_the_clock_says(jump, after_s):
    """Nothing is lost or repeated, and no run waits forever."""
    world, clock = board_world(GuardedJournal()), WanderingClock()

    async def set_clock():
        await anyio.sleep(after_s)
        clock.offset += JUMPS[jump]

    async with engine_with(world, clock).serving() as engine:
        await engine.open("board", "board", board_spec(slots=2, attempt_s=NO_LIMIT_S))
        async with anyio.create_task_group() as group:
            group.start_soon(set_clock)
            with anyio.fail_after(LONG_S):
                await person(world, engine)
    await assert_all_done(world)
    for head in await world.journal.heads():
        state = await world.state(head.run)
        assert state.tally.busy_s >= 0, "a clock that is set back gives no time back"


@pytest.mark.parametrize("jump", JUMPS)
async def test_q19_a_stop_holds_whatever_the_clock_says(jump):
    """Between the command and its receipt, and after it."""
    world, clock = board_world(GuardedJournal()), WanderingClock()
    async with engine_with(world, clock).serving() as engine:
        await engine.open("board", "board", board_spec(slots=2, attempt_s=NO_LIMIT_S))
        async with anyio.create_task_group() as group:
            group.start_soon(person, world, engine)
            await anyio.sleep(6)
            await engine.allstop()
            clock.offset += JUMPS[jump]
            written = len(world.journal.writes)
            await anyio.sleep(LONG_S)
            group.cancel_scope.cancel()
        helm = await world.events(HELM)
        later = [e for _, entries in world.journal.writes[written:] for e in entries]
        assert [type(event) for event in helm] == [Commanded, Halted]
        assert isinstance(helm[0].command, Allstop)
        assert not [e for e in later if e.run != HELM and not isinstance(e.event, Commanded)]
        await engine.command(HELM, Resume())
        with anyio.fail_after(LONG_S):
            await person(world, engine)
    await assert_all_done(world)
