"""K9, K10, K12: the codex driver with the real program passes the contract of every driver."""

import pytest

from adapters.agents.codex.launch_codex import BEATS, outputs, run
from allstop.adapters.agents.codex import Approvals
from allstop.adapters.clock import SystemClock
from allstop.testing.agent_contract import LIMIT, AgentContract, Behaviour, RecordingWatch, turn
from allstop.testing.model_server import Call, ErrorReply, Fault, Say

FLOOD = Say(pieces=("x" * 65_536,) * 80 + (" zebra",))

ANSWERS = {
    Behaviour.SAYS_WORD: ("zebra",),
    Behaviour.WRITES_FILE: (run("echo x >made.txt"), "done"),
    Behaviour.FAILS: (Say(error=ErrorReply(400, {"error": {"message": "out of cheese"}})),),
    Behaviour.LIMITED: (Fault.RATE_LIMITED,),
    Behaviour.HANGS: (
        Say(text="begun", calls=(Call(name="exec_command", arguments={"cmd": BEATS}),)),
        Say(pieces=("…",) * 1000, pause_s=0.05),
    ),
    Behaviour.HEARS: (run("echo begun; until [ -e heard.txt ]; do sleep 0.02; done"),),
    Behaviour.FLOODS: (FLOOD,),
    Behaviour.GARBLES: (run(r"printf '\377\376'"), "zebra"),
    Behaviour.USES: (Say(text="x", input=100, output=20),),
}


class TestCodex(AgentContract):
    """K10: with a workspace, in the box."""

    @pytest.fixture
    async def agents(self, stage):
        behaviours = []
        server = await stage.model(lambda asked: answer(behaviours[-1], asked))

        def agent(behaviour):
            behaviours.append(behaviour)
            asks = behaviour is Behaviour.ASKS
            approvals = Approvals.UNTRUSTED if asks else Approvals.ON_REQUEST
            return stage.agent(server, approvals=approvals)

        return agent


class TestCodexInRooms(TestCodex):
    """K10, F6: without a workspace, all conversations share one app-server."""

    @pytest.fixture
    def place(self):
        return None

    async def test_k10_a_conversation_goes_on(self, agents, place):
        """K10: resumed by another object after the first was closed, as codex requires."""
        first_agent = agents(Behaviour.COUNTS)
        first = await first_agent.take_turn(turn(place), RecordingWatch())
        await first_agent.close()

        second = await agents(Behaviour.COUNTS).take_turn(
            turn(place, thread=first.thread), RecordingWatch()
        )

        assert (first.text, second.text) == ("turn 1", "turn 2")


def used_up_until(at):
    error = {"type": "usage_limit_reached", "message": "The usage limit has been reached"}
    headers = {
        "x-codex-primary-used-percent": "100",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(int(at.timestamp())),
    }
    return Say(error=ErrorReply(429, {"error": error}, headers))


def answer(behaviour, asked):
    match behaviour:
        case Behaviour.LIMITED_FOR_HOURS:
            return used_up_until(SystemClock().now() + LIMIT)
        case Behaviour.ECHOES_LENGTH:
            return str(len(asked.blocks[-1]))
        case Behaviour.COUNTS:
            said = [m for m in asked.body["input"] if m.get("role") == "assistant"]
            return f"turn {len(said) + 1}"
        case Behaviour.ASKS:
            if not outputs(asked):
                return run("make install")
            return "denied" if "rejected" in outputs(asked)[-1] else "allowed"
        case Behaviour.HEARS if outputs(asked):
            return asked.blocks[-1]
        case _:
            answers = ANSWERS[behaviour]
            return answers[min(len(outputs(asked)), len(answers) - 1)]
