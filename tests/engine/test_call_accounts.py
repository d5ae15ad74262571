"""G5, K5, K6: model calls within a turn pay from every budget above the run."""

import anyio
import pytest

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import Raise
from allstop.core.events import CallReserved, MoveEnded, Noted
from allstop.core.moves import Failed, FailureKind, Item, ModelCall, Outcome, TurnDone, Usage
from allstop.engine.daily_budget import DailyBudget
from allstop.kinds import PILOTS
from allstop.metering.call_reservation import plan_call
from allstop.ports import Abilities, Entry
from allstop.testing.virtual_clock import LoopClock
from support.fan_out_pilot import FanOutPilot
from support.in_memory_world import DONE, InMemoryWorld, task

INPUT = 50
"""The tokens of each call's prompt; its reply has as many as it may."""


class CallingAgent:
    """Makes so many calls in each turn, each with a reply of up to 100 tokens."""

    abilities = Abilities()

    def __init__(self, calls=5, at_once=1, seconds=10.0, report=True, reply=100):
        self.calls, self.at_once, self.seconds, self.report = calls, at_once, seconds, report
        self.reply = reply
        self.heard, self.refused, self.left = [], 0, []
        self.served = 0

    async def take_turn(self, turn, watch):
        self.heard.append(turn)
        used = []
        async with anyio.create_task_group() as group:
            for _ in range(self.at_once):
                group.start_soon(self._calls, turn, watch, used)
        total = Usage()
        for usage in used:
            total = total.plus(usage)
        if self.refused:
            kind = FailureKind.CAPPED if total.tokens else FailureKind.OUT_OF_BUDGET
            return Failed(kind=kind, message="over", usage=total)
        return TurnDone(text=DONE, usage=total)

    async def _calls(self, turn, watch, used):
        for _ in range(self.calls):
            self.left.append(turn.account.left.tokens)
            reserved = await turn.account.reserve(
                lambda left: plan_call(INPUT, 100, *left, lambda total, output: total + output)
            )
            if reserved is None:
                self.refused += 1
                return
            number, plan = reserved
            usage = Usage(input=INPUT, output=min(plan.output or 100, self.reply))
            self.served += usage.tokens
            await anyio.sleep(self.seconds)
            turn.account.settle(number, usage)
            used.append(usage)
            call = ModelCall(
                model="m", status=200, input=usage.input, output=usage.output, number=number
            )
            if self.report:
                await watch.saw(Item(kind="model call", text="m", call=call))

    async def close(self):
        pass


class DayWorld(InMemoryWorld):
    """One process of several on the same store, with a limit on the day."""

    def __init__(self, journal, tokens):
        super().__init__(journal)
        self.tokens = tokens

    def engine(self):
        engine = super().engine()
        limits = Limits(tokens=self.tokens, at_limit=AtLimit.STOP)
        engine._context = engine._context._replace(daily_budget=DailyBudget(self.journal, limits))
        return engine


@pytest.fixture
def open_store(tmp_path):
    opened = []

    def open_():
        opened.append(SqliteJournal(tmp_path, LoopClock()))
        return opened[-1]

    yield open_
    for journal in opened:
        journal.close()


async def ended(world, run):
    return [event.result for event in await world.events(run) if isinstance(event, MoveEnded)]


async def test_g5_parallel_tasks_share_a_budget_by_the_call():
    """G5: four tasks at once, without a cap on each turn, spend what one would."""
    world = InMemoryWorld(pilots={**PILOTS, "fleet": FanOutPilot()})
    agent = world.agents["cli"] = CallingAgent(calls=20)
    tasks = {f"t{n}": task(task=f"t{n}") for n in range(4)}
    async with world.running() as engine:
        spec = {"tasks": tasks, "at_once": 4}
        await engine.open("all", "fleet", spec, limits=Limits(tokens=2_000))
        await anyio.sleep(1_000)

    assert 1_800 < agent.served <= 2_000
    assert agent.refused <= 8, "each in its last turn, and in one that can't begin any more"


class Continues(CallingAgent):
    """Doesn't say that it is done."""

    async def take_turn(self, turn, watch):
        result = await super().take_turn(turn, watch)
        return TurnDone(text="more", usage=result.usage)


async def test_g5_near_the_end_of_a_budget_the_next_prompt_says_what_is_left():
    """G5, K6: and the record has the note; earlier prompts have none."""
    world = InMemoryWorld()
    agent = world.agents["cli"] = Continues(calls=6)
    async with world.running() as engine:
        await engine.open("t", "task", task(task="t"), limits=Limits(tokens=1_000))
        await anyio.sleep(1_000)

    first, second = (turn.prompt.text for turn in agent.heard[:2])
    assert "nearly used up" not in first
    assert "nearly used up: 100 tokens are left" in second
    notes = [event for event in await world.events("t") if isinstance(event, Noted)]
    assert any("100 tokens are left" in item.text for note in notes for item in note.items)


async def test_g5_two_processes_on_one_store_share_a_day_by_the_call(open_store):
    """G5: each call is reserved in the store before it is made."""
    worlds = [DayWorld(open_store(), 2_000) for _ in range(2)]
    async with worlds[0].running() as one, worlds[1].running() as two:
        for world, engine in ((worlds[0], one), (worlds[1], two)):
            world.agents["cli"] = CallingAgent(calls=20)
            for name in "ab":
                run = f"{name}{worlds.index(world)}"
                await engine.open(run, "task", task(task=run))
        await anyio.sleep(1_000)

    assert 1_800 < sum(world.agents["cli"].served for world in worlds) <= 2_000


async def test_g5_a_call_waits_for_one_of_another_process_that_may_use_less(open_store):
    first, second = (DayWorld(open_store(), 200) for _ in range(2))
    async with first.running() as one, second.running() as two:
        first.agents["cli"] = CallingAgent(calls=1, seconds=30.0, reply=10)
        second.agents["cli"] = CallingAgent(calls=1, seconds=1.0)
        await one.open("a", "task", task(task="a"))
        await anyio.sleep(5)
        await two.open("b", "task", task(task="b"))
        await anyio.sleep(5)
        waiting = second.agents["cli"]
        assert (waiting.served, waiting.refused) == (0, 0)
        await anyio.sleep(60)

    assert (first.agents["cli"].served, second.agents["cli"].served) == (60, 140)


async def test_g5_without_limits_no_reservation_is_written():
    world = InMemoryWorld()
    world.agents["cli"] = CallingAgent(calls=3)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await engine.rested("t")

    events = await world.events("t")
    assert not [event for event in events if isinstance(event, CallReserved)]
    assert (await world.state("t")).tally.tokens == 450


@pytest.mark.parametrize("reports", [True, False])
async def test_g5_k6_calls_of_a_process_that_was_killed_are_charged(reports):
    """G5, K6: those that had ended by what they used, the one under way by its reservation."""
    journal = MemoryJournal()
    world = InMemoryWorld(journal)
    world.agents["cli"] = CallingAgent(calls=9, report=reports)
    seen = 0
    async with world.running() as engine:
        await engine.open("t", "task", task(), limits=Limits(tokens=10_000))
        await anyio.sleep(25)
        seen = len(journal._all)  # what the killed process has written
    del journal._all[seen:]
    later = InMemoryWorld(MemoryJournal())
    for _, record in await journal.written(0, 1_000):
        await later.journal.append(Entry(record.run, record.event))
    later.agent("cli", DONE)
    async with later.running() as engine:
        await later.resume_all(engine)
        await engine.rested("t")

    interrupted, _ = await ended(later, "t")
    assert interrupted.kind is FailureKind.INTERRUPTED
    assert interrupted.usage.tokens == 3 * 150
    assert (await later.state("t")).tally.tokens == 450 + 10


async def test_g5_k2_a_stop_charges_the_calls_that_it_cut():
    world = InMemoryWorld()
    world.agents["cli"] = CallingAgent(calls=9)
    async with world.running() as engine:
        await engine.open("t", "task", task(), limits=Limits(tokens=10_000))
        await anyio.sleep(25)
        await engine.allstop()

    (cut,) = await ended(world, "t")
    assert (cut.kind, cut.usage.tokens) == (FailureKind.CANCELLED, 450)


async def test_g5_a_raised_limit_counts_for_the_turn_under_way():
    world = InMemoryWorld()
    agent = world.agents["cli"] = CallingAgent(calls=4)
    async with world.running() as engine:
        await engine.open("t", "task", task(), limits=Limits(tokens=400))
        await anyio.sleep(5)
        await engine.command("t", Raise(limits=Limits(tokens=10_000)))
        assert await engine.rested("t") is Outcome.DONE

    assert (agent.served, agent.refused) == (600, 0)


async def test_g5_a_turn_with_a_cap_of_its_own_pays_its_calls_from_that():
    world = InMemoryWorld()
    agent = world.agents["cli"] = CallingAgent(calls=9)
    async with world.running() as engine:
        limits = Limits(tokens=10_000, turns=1)
        await engine.open("t", "task", task(max_tokens=400), limits=limits)
        await engine.rested("t")

    assert (agent.served, agent.refused) == (400, 1)
    assert agent.left == [400, 250, 100, 0]


async def test_g5_near_the_end_of_a_budget_the_prompt_says_what_is_left():
    world = InMemoryWorld()
    agent = world.agent("cli", *(TurnDone(text="more", usage=Usage(output=n)) for n in (500, 320)), DONE)  # fmt: skip
    async with world.running() as engine:
        await engine.open("t", "task", task(), limits=Limits(tokens=1_000))
        await engine.rested("t")

    told = ["180 tokens are left" in turn.prompt.whole for turn in agent.heard]
    assert told == [False, False, True]
    noted = [i.text for e in await world.events("t") if isinstance(e, Noted) for i in e.items]
    assert any("180 tokens are left" in text for text in noted), "people see it in the record"


async def test_z7_the_end_of_a_call_is_written_before_the_next_one_is_reserved():
    """Else a store that counts reservations would refuse the next call because of the last."""
    world = DayWorld(MemoryJournal(), tokens=5_000)
    world.agents["cli"] = CallingAgent(calls=8, seconds=0.01)
    async with world.running() as engine:
        await engine.open("t", "task", task(task="t"))
        await anyio.sleep(1_000)

    under_way = set()
    for event in await world.events("t"):
        if isinstance(event, CallReserved):
            assert not under_way
            under_way.add(event.number)
        elif isinstance(event, Noted):
            under_way -= {item.call.number for item in event.items if item.call}
