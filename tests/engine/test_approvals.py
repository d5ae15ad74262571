"""F4, F5, K18: requests of agents are answered by rules, people or nobody."""

import anyio
import pytest

from allstop.core.asks import Ask
from allstop.core.brakes import Limits
from allstop.core.commands import Permit
from allstop.core.events import Asked, Noted
from allstop.core.moves import Outcome, TurnDone
from allstop.ports import Abilities
from support.in_memory_world import InMemoryWorld

ASK = Ask(id="1", argv=("make", "install"), text="make install")


class Asker:
    """Asks once and returns the answer as its text."""

    abilities = Abilities(asks=True)

    async def take_turn(self, turn, watch):
        allowed = (await watch.ask(ASK)).allows
        text = f"allowed: {allowed}\n<promise>COMPLETE</promise>"
        return TurnDone(text=text)

    async def close(self):
        pass


def spec(ask_s):
    return {"goal": "x", "agent": "coder", "review": "never", "ask_s": ask_s}


async def said(world):
    events = await world.events("r")
    texts = [e.result.text for e in events if isinstance(getattr(e, "result", 0), TurnDone)]
    notes = [item.kind for e in events if isinstance(e, Noted) for item in e.items]
    return texts[0].split("\n")[0], notes, sum(isinstance(e, Asked) for e in events)


@pytest.mark.parametrize(
    ("ask_s", "answer_after_s", "answer", "notes", "asked", "takes_s"),
    [
        (0.0, None, "allowed: False", ["denied"], 0, 0),
        (60.0, 30, "allowed: True", [], 1, 30),
        (60.0, None, "allowed: False", ["unanswered"], 1, 60),
        (None, 5000, "allowed: True", [], 1, 5000),
    ],
)
async def test_k18_who_is_not_there_says_no(ask_s, answer_after_s, answer, notes, asked, takes_s):
    """K18: without a person the answer is no at once; F4: no answer in time also means no."""
    world = InMemoryWorld()
    world.agents["coder"] = Asker()
    async with world.running() as engine:
        await engine.open("r", "auto", spec(ask_s))
        began = anyio.current_time()
        if answer_after_s:
            await anyio.sleep(answer_after_s)
            await engine.command("r", Permit(ask="1", allow=True))
        await engine.rested("r")
        assert anyio.current_time() - began == pytest.approx(takes_s, abs=0.1)

    assert await said(world) == (answer, notes, asked)


async def test_k6_a_person_who_thinks_for_hours_brings_a_run_to_no_limit():
    world = InMemoryWorld()
    world.agents["coder"] = Asker()
    async with world.running() as engine:
        await engine.open("r", "auto", spec(None), limits=Limits(busy_s=60.0))
        await anyio.sleep(5000)
        await engine.command("r", Permit(ask=ASK.id, allow=True))
        assert await engine.rested("r") is Outcome.DONE

    assert (await world.state("r")).tally.busy_s < 1
