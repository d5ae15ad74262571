"""A slow store: others read, write and stop before a writer gets its confirmation."""

import anyio
import pytest

from allstop.core import run as runs
from allstop.core.asks import Ask
from allstop.core.commands import Allstop, Freeze, Pause, Permit, Resume, Say, Thaw
from allstop.core.events import MoveEnded, MoveStarted, Noted
from allstop.core.ids import HELM
from allstop.core.moves import Deliver, Failed, FailureKind, Item, Outcome, TurnDone
from support.fault_scenarios import FAULT_RUNS, assert_finished, fault_world
from support.faulty_ports import SlowJournal
from support.in_memory_world import DONE, InMemoryWorld, task

ITEM = Item(kind="x", text="hm")


def results(events):
    return [
        e.result.kind if isinstance(e.result, Failed) else type(e.result)
        for e in events
        if isinstance(e, MoveEnded)
    ]


async def folds_to_what_the_drive_knows(world, engine, run):
    events = await world.events(run)
    return engine.state(run) == runs.fold(world.pilots[events[0].kind], events)


@pytest.mark.parametrize("name", sorted(FAULT_RUNS))
@pytest.mark.parametrize(("append_s", "read_s"), [(5.0, 0.0), (0.0, 5.0), (3.0, 7.0)])
async def test_a_late_answer_hinders_nobody(name, append_s, read_s):
    world = fault_world(SlowJournal(append_s, read_s))
    async with world.running() as engine:
        await engine.open("r", FAULT_RUNS[name].kind, FAULT_RUNS[name].spec())
        await anyio.sleep(36_000)

    await assert_finished(world, FAULT_RUNS[name], "r")


async def test_what_was_said_to_all_while_an_item_was_being_written_is_not_folded_twice():
    world = InMemoryWorld(SlowJournal())
    world.agent("cli", 10.0, ITEM, 100.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(9)
        world.journal.append_s = 5.0
        await anyio.sleep(2)  # the item is durable, and the drive doesn't know yet
        world.journal.append_s = 0.0
        await engine.command(HELM, Pause())
        await engine.command(HELM, Resume())
        await anyio.sleep(10)
        assert await folds_to_what_the_drive_knows(world, engine, "t")
        assert await engine.rested("t") is Outcome.DONE

    assert sum(isinstance(e, Noted) for e in await world.events("t")) == 1


@pytest.mark.parametrize("command", [Allstop(), Say(text="x")])
async def test_k2_what_was_said_to_the_run_while_an_item_was_being_written_is_heard(command):
    """K2: the stop is written after the item, before the drive gets its confirmation."""
    world = InMemoryWorld(SlowJournal())
    world.agent("cli", 10.0, ITEM, 10_000.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task(turn_s=20_000.0, idle_s=20_000.0))
        await anyio.sleep(9)
        world.journal.append_s = 5.0
        await anyio.sleep(2)
        world.journal.append_s = 0.0
        await engine.command("t", command)
        await anyio.sleep(20)
        assert await folds_to_what_the_drive_knows(world, engine, "t")

        expected = [FailureKind.CANCELLED] if isinstance(command, Allstop) else []
        assert results(await world.events("t")) == expected


async def test_an_answer_that_comes_before_the_drive_knows_that_it_asked_is_heard():
    world = InMemoryWorld(SlowJournal())
    world.agent("cli", 10.0, Ask(id="1", argv=("rm",)), DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(9)
        world.journal.append_s = 5.0
        await anyio.sleep(2)
        world.journal.append_s = 0.0
        await engine.command("t", Permit(ask="1", allow=True))
        await anyio.sleep(100)

    assert await world.outcome("t") == [Outcome.DONE]


@pytest.mark.parametrize("where", [HELM, "t"])
async def test_k1_a_freeze_that_comes_before_the_drive_knows_that_it_may_begin_is_heard(where):
    world = InMemoryWorld(SlowJournal())
    world.agent("cli", 100.0, DONE)
    async with world.running() as engine:
        world.journal.append_s = 5.0
        async with anyio.create_task_group() as group:
            group.start_soon(engine.open, "t", "task", task())
            await anyio.sleep(7)  # the first turn is on record
            world.journal.append_s = 0.0
            await engine.command(where, Freeze())
        await anyio.sleep(10)

        assert world.launcher.frozen == {"t"}
        await engine.command(where, Thaw())
        await anyio.sleep(1)
        assert world.launcher.frozen == set()


def is_delivering(events):
    return isinstance(events[-1], MoveStarted) and isinstance(events[-1].move, Deliver)


class FreezableAgent:
    """Takes 50 seconds of not being frozen, as a program would."""

    def __init__(self, launcher):
        self._launcher = launcher

    async def take_turn(self, turn, watch):
        left_s = 50
        while left_s:
            await anyio.sleep(1)
            left_s -= turn.run not in self._launcher.frozen
        return TurnDone(text=DONE)


async def test_k1_a_turn_that_begins_frozen_does_not_lose_its_time():
    """K1: the freeze came when the turn was on record and not yet begun; its clocks stand still."""
    world = InMemoryWorld(SlowJournal())
    world.agents["cli"] = FreezableAgent(world.launcher)
    async with world.running() as engine:
        world.journal.append_s = 5.0
        async with anyio.create_task_group() as group:
            group.start_soon(engine.open, "t", "task", task(turn_s=60.0, idle_s=60.0))
            await anyio.sleep(7)
            world.journal.append_s = 0.0
            await engine.command("t", Freeze())
        await anyio.sleep(500)
        await engine.command("t", Thaw())
        await anyio.sleep(100)

    assert results(await world.events("t")) == [TurnDone]


async def test_k2_work_that_was_on_record_when_the_stop_came_is_not_begun():
    """K2: nothing is brought home after the stop, not even by work that takes no time."""
    world = fault_world(SlowJournal())
    world.workspaces.takes_s = 0.0
    fault_run = FAULT_RUNS["task"]
    async with world.running() as engine:
        await engine.open("r", fault_run.kind, fault_run.spec())
        world.journal.append_s = 0.5
        while not is_delivering(await world.events("r")):
            await anyio.sleep(0.2)
        await engine.command("r", Allstop())
        await anyio.sleep(100)

        assert world.workspaces.brought == []
        await engine.command("r", Resume())
        await anyio.sleep(100)
    await assert_finished(world, fault_run, "r")


async def test_k2_a_late_word_of_an_agent_that_does_not_let_go_is_not_written():
    """K2: it is shielded from being cut off, goes on talking, asks, and comes back with a reply."""

    class Stubborn:
        def __init__(self):
            self.allowed = None

        async def take_turn(self, turn, watch):
            with anyio.CancelScope(shield=True):
                await anyio.sleep(20)
                await watch.opened("late thread")
                await watch.saw(Item(kind="x", text="late item"))
                self.allowed = (await watch.ask(Ask(id="1", argv=("late",)))).allows
                await watch.saw(Item(kind="x", text="later item"))
            return TurnDone(text=f"late reply\n{DONE}")

    world = InMemoryWorld()
    agent = world.agents["cli"] = Stubborn()
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        receipt = await engine.allstop()
        await anyio.sleep(100)

    events = await world.events("t")
    assert results(events) == [FailureKind.DISCARDED]
    assert "late" not in str(events)
    assert agent.allowed is False
    assert receipt.took_ms >= 10_000
