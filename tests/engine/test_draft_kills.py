"""P13, Q16, K2: drafts that are killed or stopped at every write."""

import anyio
import pytest

from allstop.core.commands import Answer
from allstop.core.events import MoveEnded
from allstop.core.moves import Outcome, TurnDone, Usage
from allstop.ports import Abilities
from support.fault_scenarios import kill_at_every_write, open_or_resume, stop_at_every_write
from support.faulty_ports import CrashingJournal, GuardedJournal, RacingJournal
from support.in_memory_world import InMemoryWorld
from support.sweeps import every

RUN = "draft1"
LONG_S = 3600.0
SPEC = {"goal": "Do B", "name": RUN, "target": "main", "agents": ["planner"], "asks": True}
PLAN = "# A\n\n## B\n\n- one\n  - [ ] it holds\n  - check: true\n"


class Planner:
    """Asks one question; with its answer, writes a plan."""

    abilities = Abilities()

    async def take_turn(self, turn, watch):
        if turn.thread is None:
            await watch.opened("t1")
        await anyio.sleep(2)
        is_answered = "Answer: here" in turn.prompt.whole
        text = f"<plan>\n{PLAN}</plan>" if is_answered else "<questions>\n1. Where?\n</questions>"
        return TurnDone(text=text, thread="t1", usage=Usage(output=10))

    async def close(self):
        pass


def at_work(journal):
    world = InMemoryWorld(journal)
    world.agents = {"planner": Planner()}
    return world


async def go(world):
    """Open or resume the run until it ends or the process dies; a person answers."""
    async with world.running() as engine:
        await open_or_resume(world, engine, RUN, "draft", SPEC)
        await answered(world, engine)


async def answered(world, engine):
    await anyio.sleep(LONG_S)
    if (await world.state(RUN)).pilot.waiting:
        await engine.command(RUN, Answer(text="here"))
        await anyio.sleep(LONG_S)


async def assert_written_once(world):
    state = await world.state(RUN)
    events = await world.events(RUN)
    turns = [e for e in events if isinstance(e, MoveEnded) and isinstance(e.result, TurnDone)]
    assert state.closed.outcome is Outcome.DONE
    assert (state.pilot.text, len(turns), state.pilot.corrected) == (PLAN, 2, 0)
    assert [each.answer for each in state.pilot.questions] == ["here"]
    assert set(world.workspaces.discarded) == {RUN}
    assert world.workspaces.commits == {}, "nothing of its workspace was kept"


async def test_p13_the_draft_of_the_other_tests_arrives():
    world = at_work(GuardedJournal())
    await go(world)

    await assert_written_once(world)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_p13_killed_at_any_write_a_draft_is_written_once(when):
    kills = await kill_at_every_write(
        every(1), lambda nth: at_work(CrashingJournal(nth, when)), go, assert_written_once
    )

    assert kills > 4


@pytest.mark.parametrize("where", ["helm", "root", "writer"])
async def test_k2_allstop_wins_every_race_with_every_write_of_a_draft(where):
    stops = await stop_at_every_write(
        every(1),
        lambda nth: at_work(RacingJournal(nth, where)),
        lambda engine: engine.open(RUN, "draft", SPEC),
        answered,
        assert_written_once,
    )

    assert stops > 4
