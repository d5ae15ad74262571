"""Calls of the turn's tools by Claude Code, and the expected items, for every driver."""

import json
import re

from allstop.adapters.agents.claude_code.tools import PREFIX
from allstop.core.asks import Ask, Option, Question
from allstop.core.moves import Item, TurnDone
from allstop.core.signals import Signal, SignalClaim
from allstop.testing.agent_contract import RecordingWatch
from allstop.testing.model_server import Call, Say


def use(name, **arguments):
    return Say(text="", calls=(Call(name=PREFIX + name, arguments=arguments),))


def offered(asked):
    """The names of the offered tools; Claude Code loads the rest on demand."""
    return set(re.findall(r"mcp__\w+", json.dumps(asked.body)))


TELLS = (
    use("progress", percent=40, text="the parser reads"),
    use("signal", signal="PENDING", text="Which one?"),
    "That is it.",
)
ASKS = use("ask", question="Which colour?", options=["Red", "Blue"])
_COLOUR = Question(text="Which colour?", options=(Option(label="Red"), Option(label="Blue")))
ASKED = Ask(id="allstop-1", kind="question", text=_COLOUR.text, questions=(_COLOUR,))


async def hear(bench, agent):
    """Run a turn that makes the calls in TELLS; nobody is asked for permission."""
    watch = RecordingWatch()

    result = await bench.turn(agent, watch)

    assert isinstance(result, TurnDone), result
    assert result.claim == SignalClaim(signal=Signal.PENDING, text="Which one?")
    assert watch.asks == []
    assert watch.items == [
        Item(kind="progress", text="40% the parser reads"),
        Item(kind="signal", text="PENDING: Which one?"),
        Item(kind="message", text="That is it."),
    ]
