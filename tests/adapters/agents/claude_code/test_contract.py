"""K9, K10, K12: the real Claude Code in a real box passes the contract of every driver."""

import pytest

from adapters.agents.claude_code.launch_claude import (
    BEATS,
    bash,
    came_back,
    replies,
    used_up_until,
    write,
)
from allstop.adapters.agents.claude_code import PermissionMode
from allstop.adapters.agents.claude_code.approvals import DENIED_ADVICE
from allstop.adapters.clock import SystemClock
from allstop.testing.agent_contract import LIMIT, AgentContract, Behaviour
from allstop.testing.model_server import Fault, Say

SLOWLY = Say(pieces=("begun", *("…",) * 20), pause_s=0.05)

ANSWERS = {
    Behaviour.SAYS_WORD: ["zebra"],
    Behaviour.ECHOES_LENGTH: lambda asked: str(len(asked.blocks[-1])),
    Behaviour.WRITES_FILE: [write(), "done"],
    Behaviour.FAILS: [Say(text="out of cheese", fault=Fault.REFUSAL)],
    Behaviour.LIMITED: [Fault.RATE_LIMITED],
    Behaviour.LIMITED_FOR_HOURS: lambda asked: used_up_until(SystemClock().now() + LIMIT),
    Behaviour.HANGS: [bash(BEATS), Fault.SILENCE],
    Behaviour.HEARS: lambda asked: _echoed(asked) or SLOWLY,
    Behaviour.FLOODS: [Say(pieces=("x" * 65_536,) * 80 + (" zebra",))],
    Behaviour.GARBLES: [Say(pieces=("spoiled", " zebra"), fault=Fault.BAD_UTF8)],
    Behaviour.COUNTS: lambda asked: f"turn {replies(asked) + 1}",
    Behaviour.ASKS: lambda asked: _judged(came_back(asked)) or bash("make install"),
    Behaviour.USES: [Say(text="x", input=100, output=20)],
}
ENDS_AT_ONCE = {"CLAUDE_CODE_MAX_RETRIES": "0"}
PERMISSIONS = {Behaviour.WRITES_FILE: PermissionMode.EDITS, Behaviour.HANGS: PermissionMode.ALL}


def _judged(came):
    return ("denied" if DENIED_ADVICE in came[-1] else "allowed") if came else ""


def _echoed(asked):
    """The messages that it received during the turn."""
    return asked.blocks[-1] if replies(asked) else ""


class TestClaudeCode(AgentContract):
    @pytest.fixture
    async def agents(self, bench):
        made = {
            behaviour: await bench.agent(
                answers,
                permissions=PERMISSIONS.get(behaviour, PermissionMode.ASK),
                env=ENDS_AT_ONCE if behaviour is Behaviour.LIMITED_FOR_HOURS else {},
            )
            for behaviour, answers in ANSWERS.items()
        }
        return made.__getitem__
