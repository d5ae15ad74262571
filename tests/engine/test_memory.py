"""K17: work that uses too much memory is ended; a turn then waits for a person."""

import anyio
import pytest

from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import Resume
from allstop.core.moves import Failed, FailureKind, Outcome
from allstop.engine.steps import Waiting
from support.in_memory_world import InMemoryWorld, task, turns

DONE = "done\n<promise>COMPLETE</promise>"
HEAVY = "its programs hold 4,310 MB of memory, more than 4,096 MB"
PAUSE = Limits(at_limit=AtLimit.PAUSE)


@pytest.fixture
def world():
    return InMemoryWorld()


def spec():
    return task(target="main", branch="allstop/t", review="never")


async def ends(world, run="t"):
    events = await world.events(run)
    return [event.result for event in events if hasattr(event, "result")]


async def test_k17_a_turn_whose_programs_hold_too_much_ends_and_waits_for_a_person(world):
    world.agent("cli", 5000.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", spec(), limits=PAUSE)
        await anyio.sleep(100)
        world.launcher.report_memory("t", HEAVY)
        rest = await engine.rested("t")
        await engine.command("t", Resume())
        await anyio.sleep(1)
        assert turns(await world.events("t")) == ["cli", "cli"]

    assert rest == Waiting(f"limit reached: {HEAVY}", for_person=True)
    failed = [(end.kind, end.message) for end in await ends(world) if hasattr(end, "kind")]
    assert failed == [(FailureKind.OUT_OF_MEMORY, HEAVY)]


async def test_k17_where_limits_stop_a_turn_that_holds_too_much_ends_the_run(world):
    world.agent("cli", 5000.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", spec(), limits=Limits(at_limit=AtLimit.STOP))
        await anyio.sleep(100)
        world.launcher.report_memory("t", HEAVY)
        assert await engine.rested("t") is Outcome.BRAKED


async def test_k17_a_turn_that_the_kernel_has_ended_for_its_memory_says_so(world):
    world.agent("cli", Failed(kind=FailureKind.EXITED, message="exit code 137"))
    world.launcher.ended["t"] = HEAVY
    async with world.running() as engine:
        await engine.open("t", "task", spec(), limits=PAUSE)
        rest = await engine.rested("t")

    assert rest == Waiting(f"limit reached: {HEAVY}", for_person=True)
    failed = [(end.kind, end.message) for end in await ends(world) if hasattr(end, "kind")]
    assert failed == [(FailureKind.OUT_OF_MEMORY, HEAVY)]


async def test_k17_what_is_said_of_another_s_programs_ends_no_turn(world):
    world.agent("cli", 50.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", spec(), limits=PAUSE)
        await anyio.sleep(10)
        world.launcher.report_memory("codex", HEAVY)
        await engine.rested("t")

    assert turns(await world.events("t")) == ["cli"]
    assert [end for end in await ends(world) if hasattr(end, "kind")] == []
