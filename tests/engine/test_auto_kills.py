"""Q16, K2: Full Auto threads that are killed or stopped at every write."""

import anyio
import pytest

from allstop.core.events import MoveEnded
from allstop.core.moves import Item, TurnDone, Usage
from allstop.ports import Abilities
from support.fault_scenarios import (
    assert_each_child_started_once,
    assert_each_run_done_once,
    kill_again_and_again,
    kill_at_every_write,
    open_or_resume,
    stop_at_every_write,
)
from support.faulty_ports import (
    CrashingJournal,
    GuardedJournal,
    MergingWorkspaces,
    RacingJournal,
    SecondTimeChecks,
)
from support.in_memory_world import DONE, InMemoryWorld
from support.sweeps import every

THREAD = "auto:thread"
LONG_S = 3600.0
ADVICE = '{"action": "%s", "reason": "so it looks", "confidence": 0.9}'
SPEC = {
    "goal": "Write a parser.",
    "agent": "coder",
    "policy": "model",
    "decision_agent": "adviser",
    "review": "end",
    "name": "thread",
    "target": "main",
    "gate": {"checks": [{"name": "Tests", "run": "pytest"}]},
    "merge": True,
}


class Coder:
    """Is done once two turns have left something; remembers nothing, so that it can be killed."""

    abilities = Abilities()

    def __init__(self, workspaces):
        self._workspaces = workspaces
        self.taken = 0

    async def take_turn(self, turn, watch):
        self.taken += 1
        if turn.thread is None:
            await watch.opened("t1")
        await anyio.sleep(2)
        await watch.saw(Item(kind="x", text="hm"))
        await anyio.sleep(2)
        done = self._workspaces.commits.get("thread", 0) >= 2
        return TurnDone(text=DONE if done else "more to do", thread="t1", usage=Usage(output=10))

    async def close(self):
        pass


class Adviser(Coder):
    async def take_turn(self, turn, watch):
        self.taken += 1
        await anyio.sleep(1)
        action = "stop" if DONE in turn.prompt.whole else "continue"
        return TurnDone(text=ADVICE % action, usage=Usage(output=5))


def at_work(journal):
    world = InMemoryWorld(journal)
    world.workspaces = MergingWorkspaces()
    world.checks = SecondTimeChecks(world.workspaces)
    world.agents = {
        "coder": Coder(world.workspaces),
        "adviser": Adviser(world.workspaces),
    }
    return world


async def go(world):
    """Open or resume the run until it ends or the process dies."""
    async with world.running() as engine:
        await open_or_resume(world, engine, THREAD, "auto", SPEC)
        await anyio.sleep(LONG_S)


async def assert_merged_once(world):
    """Nothing lost, nothing done or merged twice, and the record explains itself."""
    assert world.workspaces.merged == ["thread"]
    await assert_each_run_done_once(world)
    await assert_each_child_started_once(world, THREAD)


async def turns_on_record(world):
    events = await world.events(THREAD)
    return sum(isinstance(e, MoveEnded) and isinstance(e.result, TurnDone) for e in events)


async def test_the_thread_of_the_other_tests_arrives():
    world = at_work(GuardedJournal())
    await go(world)

    await assert_merged_once(world)
    assert world.agents["coder"].taken >= 2
    assert world.agents["adviser"].taken >= 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_q16_killed_at_any_write_of_a_thread_nothing_is_lost_or_done_twice(when):
    async def assert_whole(world):
        await assert_merged_once(world)
        taken = sum(agent.taken for agent in world.agents.values())
        repeated = taken - await turns_on_record(world)
        assert repeated <= world.under_way, "a turn was taken again"

    kills = await kill_at_every_write(
        every(2), lambda nth: at_work(CrashingJournal(nth, when)), go, assert_whole
    )

    assert kills > 7


async def test_q16_a_thread_killed_again_and_again_still_arrives():
    deaths, world = await kill_again_and_again(at_work, go, 3, 5)

    assert deaths >= 3
    await assert_merged_once(world)


@pytest.mark.parametrize("where", ["helm", "root", "writer"])
async def test_k2_allstop_wins_every_race_with_every_write_of_a_thread(where):
    stops = await stop_at_every_write(
        every(2),
        lambda nth: at_work(RacingJournal(nth, where)),
        lambda engine: engine.open(THREAD, "auto", SPEC),
        lambda world, engine: anyio.sleep(LONG_S),
        assert_merged_once,
    )

    assert stops > 7
