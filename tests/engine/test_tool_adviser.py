"""F5, F12: a confident model answers questions of tools, otherwise a person."""

import json

import anyio
import pytest

from allstop.auto.tool_advice import advice_schema
from allstop.core.asks import Ask, Option, Question
from allstop.core.brakes import Limits
from allstop.core.commands import Permit
from allstop.core.events import Asked, MoveEnded, Noted
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.core.replay import differences
from allstop.kinds import PILOTS
from allstop.ports import Abilities
from support.in_memory_world import DONE, InMemoryWorld

COLOUR = Question(text="Which colour?", options=(Option(label="Red"), Option(label="Blue")))
ASK = Ask(id="q1", kind="question", text=COLOUR.text, questions=(COLOUR,))
LEAVE = Ask(id="c1", argv=("make", "install"), text="make install")


class Asker:
    """Asks a question and returns the answer as its text."""

    abilities = Abilities(asks=True)

    def __init__(self, ask=ASK):
        self.ask = ask

    async def take_turn(self, turn, watch):
        answer = await watch.ask(self.ask)
        text = f"{answer.leave}: {'; '.join(answer.answers)} by {answer.by}\n{DONE}"
        return TurnDone(text=text, usage=Usage(input=1))

    async def close(self):
        pass


def advice(confidence, *answers):
    return json.dumps({"answers": answers, "reason": "it said so", "confidence": confidence})


def spec(ask_s=0.0, **more):
    given = {"goal": "Paint it blue.", "agent": "coder", "review": "never", "ask_s": ask_s}
    return {**given, "adviser": "chief", "min_confidence": 0.6, **more}


async def told(world):
    """The agent's final answer, the recorded items and the number of questions to people."""
    events = await world.events("r")
    results = [e.result for e in events if isinstance(e, MoveEnded)]
    notes = [item for e in events if isinstance(e, Noted) for item in e.items]
    asked = sum(isinstance(e, Asked) for e in events)
    return results[0].text.split("\n")[0], [note.kind for note in notes], asked


@pytest.mark.parametrize(
    ("reply", "said", "notes"),
    [
        (advice(0.6, "blue"), "allow: Blue by chief", ["answered"]),
        (advice("0.9", "2"), "allow: Blue by chief", ["answered"]),
        (advice(0.59, "Blue"), "deny:  by nobody", ["unsure", "denied"]),
        (advice(0.9), "deny:  by nobody", ["unadvised", "denied"]),
        (advice(0.9, "Red", "Blue"), "deny:  by nobody", ["unadvised", "denied"]),
        (advice(1.1, "Red"), "deny:  by nobody", ["unadvised", "denied"]),
        ("Blue, surely.", "deny:  by nobody", ["unadvised", "denied"]),
        (Failed(kind=FailureKind.AUTH), "deny:  by nobody", ["unadvised", "denied"]),
        (1000.0, "deny:  by nobody", ["unadvised", "denied"]),
    ],
)
async def test_f5_only_a_valid_answer_that_is_sure_enough_counts(reply, said, notes):
    """F5: invalid output is rejected and the question is passed on, here to nobody."""
    world = InMemoryWorld()
    world.agents["coder"] = Asker()
    chief = world.agent("chief", reply)
    async with world.running() as engine:
        await engine.open("r", "auto", spec())
        await engine.rested("r")

    assert await told(world) == (said, notes, 0)
    (turn,) = chief.heard
    assert "Paint it blue." in turn.prompt.whole
    assert "- Red" in turn.prompt.whole
    assert turn.prompt.talk.reply_schema == advice_schema(1)


async def test_f5_where_the_model_is_not_sure_a_person_answers():
    """F5: with a person there, the question waits for them as any other."""
    world = InMemoryWorld()
    world.agents["coder"] = Asker()
    world.agent("chief", advice(0.2, "Red"))
    async with world.running() as engine:
        await engine.open("r", "auto", spec(ask_s=None))
        await anyio.sleep(30)
        await engine.command("r", Permit(ask="q1", allow=True, answers=("Blue",)), by="anna")
        await engine.rested("r")

    assert await told(world) == ("allow: Blue by anna", ["unsure"], 1)


async def test_k18_a_model_is_never_asked_whether_something_may_be_done():
    """K18: leave is a matter of rules and people."""
    world = InMemoryWorld()
    world.agents["coder"] = Asker(LEAVE)
    chief = world.agent("chief", advice(1.0, "yes"))
    async with world.running() as engine:
        await engine.open("r", "auto", spec())
        await engine.rested("r")

    assert await told(world) == ("deny:  by nobody", ["denied"], 0)
    assert chief.heard == []


async def test_f12_the_answer_is_on_record_and_paid_for():
    """F7, F12: replay needs no model; its usage counts for the turn."""
    world = InMemoryWorld()
    world.agents["coder"] = Asker()
    world.agent("chief", advice(0.8, "Blue"), tokens=7)
    async with world.running() as engine:
        await engine.open("r", "auto", spec())
        await engine.rested("r")

    events = await world.events("r")
    assert differences(PILOTS["auto"], events) == []
    (note,) = [item for e in events if isinstance(e, Noted) for item in e.items]
    assert note.text == "Which colour? → Blue (chief, confidence 0.8: it said so)"
    (ended,) = [e for e in events if isinstance(e, MoveEnded)]
    assert ended.result.usage == Usage(input=1, output=7)


async def test_k5_advice_never_uses_more_than_was_reserved_for_it():
    """K5: with a cap, a turn and its advice reserve as much again; then a person is asked."""
    world = InMemoryWorld()
    world.agents["coder"] = Insistent()
    chief = world.agent("chief", then=lambda turn: advice(0.9, "Blue"), tokens=30)
    async with world.running() as engine:
        await engine.open("r", "auto", spec(max_tokens=100), limits=Limits(tokens=200))
        await engine.rested("r")
    (used,) = [e.result.usage for e in await world.events("r") if isinstance(e, MoveEnded)]

    assert [turn.max_tokens for turn in chief.heard] == [100, 70, 40, 10]
    assert used.tokens == 100 + 1


class Insistent(Asker):
    """Asks five times."""

    async def take_turn(self, turn, watch):
        for _ in range(4):
            await watch.ask(self.ask)
        return await super().take_turn(turn, watch)


async def test_k5_what_advice_used_counts_although_the_turn_was_cut():
    world = InMemoryWorld()
    world.agents["coder"] = Sleepless()
    world.agent("chief", advice(0.9, "Blue"), tokens=30)
    async with world.running() as engine:
        await engine.open("r", "auto", spec())
        await anyio.sleep(30)
        await engine.allstop()

        assert engine.state("r").tally.tokens == 30


class Sleepless(Asker):
    """Asks, and never comes back."""

    async def take_turn(self, turn, watch):
        await watch.ask(self.ask)
        await anyio.sleep_forever()
