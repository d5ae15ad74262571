"""B20, K10: a person's message reaches a working agent at once or in its next turn."""

import anyio
import pytest

from allstop.core.commands import Allstop, Freeze, Resume, Say, Thaw
from allstop.core.events import Commanded, MoveEnded, Reached
from allstop.core.moves import Failed, FailureKind, Outcome
from support.in_memory_world import DONE, InMemoryWorld, ReceivesMessage, task


async def said_at(engine, seconds, *texts):
    await anyio.sleep(seconds)
    for text in texts:
        await engine.command("t", Say(text=text))


def prompts(agent):
    return [turn.prompt.whole for turn in agent.heard]


async def order(world):
    return [
        type(event).__name__
        for event in await world.events("t")
        if isinstance(event, Commanded | Reached | MoveEnded)
    ]


@pytest.mark.parametrize("kind", ["task", "auto"])
async def test_b20_it_reaches_the_turn_and_is_in_no_later_prompt(kind):
    """B20: the message is recorded once and delivered once; the next turn doesn't repeat it."""
    world = InMemoryWorld()
    agent = world.agent("cli", ReceivesMessage(), 5.0, "going on", DONE)
    spec = task() if kind == "task" else {"goal": "x", "agent": "cli", "review": "never"}
    async with world.running() as engine:
        await engine.open("t", kind, spec)
        await said_at(engine, 10, "zebra")
        assert await engine.rested("t") is Outcome.DONE

    assert agent.told == ["A person says: zebra"]
    assert [text.count("zebra") for text in prompts(agent)] == [0, 0]
    assert await order(world) == ["Commanded", "Reached", "MoveEnded", "MoveEnded"]


@pytest.mark.parametrize("kind", ["task", "auto"])
async def test_b20_who_can_not_be_told_at_once_hears_it_at_the_next_turn(kind):
    """B20: a person's message isn't lost even if the agent has completed."""
    world = InMemoryWorld()
    agent = world.agent("cli", 20.0, DONE, DONE)
    spec = task() if kind == "task" else {"goal": "x", "agent": "cli", "review": "never"}
    async with world.running() as engine:
        await engine.open("t", kind, spec)
        await said_at(engine, 10, "zebra")
        assert await engine.rested("t") is Outcome.DONE

    assert [text.count("zebra") for text in prompts(agent)] == [0, 1]
    assert await order(world) == ["Commanded", "MoveEnded", "MoveEnded"]


async def test_b20_what_was_not_taken_is_told_at_the_next_turn():
    world = InMemoryWorld()
    agent = world.agent("cli", ReceivesMessage(takes=False), 5.0, "going on", DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await said_at(engine, 10, "zebra", "horse")
        assert await engine.rested("t") is Outcome.DONE

    assert agent.told == ["A person says: zebra"]
    assert [(text.count("zebra"), text.count("horse")) for text in prompts(agent)] == [
        (0, 0),
        (1, 1),
    ]


async def test_b20_a_word_during_a_word_is_told_after_it():
    world = InMemoryWorld()
    agent = world.agent("cli", ReceivesMessage(after_s=10), ReceivesMessage(), DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await said_at(engine, 10, "zebra")
        await said_at(engine, 5, "horse")
        assert await engine.rested("t") is Outcome.DONE

    assert agent.told == ["A person says: zebra", "A person says: horse"]
    assert await order(world) == ["Commanded", "Commanded", "Reached", "Reached", "MoveEnded"]


async def test_b20_a_turn_that_failed_has_not_heard_it():
    """B20: the conversation may be lost, so all messages are sent again with the goal."""
    world = InMemoryWorld()
    lost = Failed(kind=FailureKind.CRASHED)
    agent = world.agent("cli", ReceivesMessage(), lost, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await said_at(engine, 10, "zebra")
        assert await engine.rested("t") is Outcome.DONE

    assert [text.count("zebra") for text in prompts(agent)] == [0, 1]


async def test_k1_who_is_frozen_is_told_nothing_before_it_is_thawed():
    """K1, B20: a frozen agent gets no message, which would be delivered twice."""
    world = InMemoryWorld()
    agent = world.agent("cli", ReceivesMessage(), DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(1)
        await engine.command("t", Freeze())
        await said_at(engine, 10, "zebra")
        await anyio.sleep(100)
        assert agent.told == []
        await engine.command("t", Thaw())
        assert await engine.rested("t") is Outcome.DONE

    assert agent.told == ["A person says: zebra"]


async def test_k2_nothing_is_told_after_a_stop():
    """K2: a turn cut off by a stop hasn't received the message; after Resume the agent does."""
    world = InMemoryWorld()
    agent = world.agent("cli", ReceivesMessage(after_s=10), 1.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await said_at(engine, 10, "zebra")
        await anyio.sleep(5)
        await engine.command("t", Allstop())
        await anyio.sleep(60)
        assert "Reached" not in await order(world)
        await engine.command("t", Resume())
        await anyio.sleep(60)
        assert await engine.rested("t") is Outcome.DONE

    assert [text.count("zebra") for text in prompts(agent)] == [0, 1]
