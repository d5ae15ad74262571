"""K9, K10, K12: a real ACP agent in a real box passes the contract of every driver."""

import pytest

from adapters.agents.claude_code.launch_claude import (
    BEATS,
    bash,
    came_back,
    replies,
    used_up_until,
    write,
)
from allstop.adapters.clock import SystemClock
from allstop.core.asks import Answer, Permission
from allstop.testing.agent_contract import LIMIT, AgentContract, Behaviour
from allstop.testing.model_server import Fault, Say

ANSWERS = {
    Behaviour.SAYS_WORD: ["zebra"],
    Behaviour.ECHOES_LENGTH: lambda asked: str(len(asked.blocks[-1])),
    Behaviour.WRITES_FILE: [write(), "done"],
    Behaviour.FAILS: [Say(text="out of cheese", fault=Fault.REFUSAL)],
    Behaviour.LIMITED: [Fault.RATE_LIMITED],
    Behaviour.LIMITED_FOR_HOURS: lambda asked: used_up_until(SystemClock().now() + LIMIT),
    Behaviour.HANGS: [bash(BEATS), Fault.SILENCE],
    Behaviour.FLOODS: [Say(pieces=("x" * 65_536,) * 80 + (" zebra",))],
    Behaviour.GARBLES: [Say(pieces=("spoiled", " zebra"), fault=Fault.BAD_UTF8)],
    Behaviour.COUNTS: lambda asked: f"turn {replies(asked) + 1}",
    Behaviour.HEARS: ["zebra"],  # it can't: the contract asks for no more
    Behaviour.ASKS: lambda asked: _judged(came_back(asked)) or bash("make install"),
    Behaviour.USES: [Say(text="x", input=100, output=20)],
}


def _judged(came):
    return ("denied" if "refused permission" in came[-1] else "allowed") if came else ""


class Trusting:
    """An agent whose watch allows everything."""

    def __init__(self, agent):
        self._agent = agent
        self.abilities = agent.abilities
        self.close = agent.close

    async def take_turn(self, asked, watch):
        watch.answer = Answer(leave=Permission.ALLOW)
        return await self._agent.take_turn(asked, watch)


class TestAcp(AgentContract):
    @pytest.fixture
    async def agents(self, bench):
        made = {behaviour: await bench.agent(answers) for behaviour, answers in ANSWERS.items()}
        for behaviour in (Behaviour.WRITES_FILE, Behaviour.HANGS):
            made[behaviour] = Trusting(made[behaviour])
        return made.__getitem__
