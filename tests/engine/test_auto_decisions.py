"""F7: decisions are recorded, and replay gives the same decisions."""

from msgspec.structs import replace

from allstop.auto.pilot import AutoPilot
from allstop.core.events import MoveEnded
from allstop.core.moves import TurnDone
from allstop.core.replay import redecided
from allstop.views.auto import decisions, describe_difference
from support.in_memory_world import DONE, InMemoryWorld

SPEC = {"goal": "Write a parser.", "agent": "coder", "cooldown_s": 0.0, "edition": 2}


async def recorded(*turns):
    world = InMemoryWorld()
    world.agent("coder", *turns)
    async with world.running() as engine:
        await engine.open("auto1", "auto", SPEC)
        await engine.rested("auto1")
    return await world.events("auto1")


def made(events):
    return [event.decided for event in events if isinstance(event, MoveEnded)]


async def test_f7_every_decision_is_written_with_the_turn_that_it_follows():
    """F7: output, confidence, author, edition of the rules and a digest of the inputs."""
    events = await recorded("the lexer is there", DONE)

    first, last = made(events)
    assert first.decision.reason == "it has not said that it is done"
    assert (first.decision.action, first.decision.confidence) == ("continue", 0.9)
    assert (last.decision.action, last.decision.by, last.edition) == ("stop", "rules", 2)
    assert first.inputs != last.inputs
    assert redecided(AutoPilot(), events) == []


async def test_f7_a_decision_that_was_changed_afterwards_is_reported():
    events = await recorded("the lexer is there", DONE)
    place = next(n for n, event in enumerate(events) if isinstance(event, MoveEnded))
    ended = events[place]
    decision = replace(ended.decided.decision, confidence=0.1)
    events[place] = replace(ended, decided=replace(ended.decided, decision=decision))

    (found,) = redecided(AutoPilot(), events)

    assert found.seq == place + 1
    assert "confidence 0.9" in describe_difference(found)
    assert decisions(AutoPilot(), events)[0].decision == decision


async def test_f7_inputs_that_were_changed_afterwards_are_reported():
    """F7: although they lead to the same decision."""
    events = await recorded("the lexer is there", DONE)
    place = next(n for n, event in enumerate(events) if isinstance(event, MoveEnded))
    events[place] = replace(events[place], result=TurnDone(text="the parser is there"))

    found = redecided(AutoPilot(), events)

    assert describe_difference(found[0]) == "the same decision from different inputs"


async def test_q20_a_record_without_decisions_is_read_as_before():
    events = [
        replace(event, decided=None) if isinstance(event, MoveEnded) else event
        for event in await recorded("the lexer is there", DONE)
    ]

    assert redecided(AutoPilot(), events) == []
    told = [each.decision.action for each in decisions(AutoPilot(), events)]
    assert told == ["continue", "stop"]
