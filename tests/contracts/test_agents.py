"""K9, K10, K12: every driver keeps the contract of allstop.testing.agent_contract, in the real box."""

from contextlib import AsyncExitStack

import pytest

from allstop.adapters.agents.command import CommandAgent
from allstop.adapters.agents.script import read_script
from allstop.adapters.agents.scripted import ScriptedAgent
from allstop.adapters.clock import SystemClock
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.ports import Box
from allstop.testing.agent_contract import AgentContract, Behaviour
from allstop.testing.model_server import ErrorReply, Fault, Say, model_server
from support.api_agents import CONNECTORS

BEATS = "while :; do echo beat >>beat.txt; sleep 0.01; done"

SCRIPTS = {
    Behaviour.SAYS_WORD: '{ say = "zebra" }',
    Behaviour.WRITES_FILE: '{ write = "made.txt", text = "x" }',
    Behaviour.FAILS: '{ fail = "exited", message = "out of cheese" }',
    Behaviour.LIMITED: "{ rate_limit = 30 }",
    Behaviour.LIMITED_FOR_HOURS: "{ rate_limit = 7200 }",
    Behaviour.HANGS: f'{{ say = "begun" }}, {{ spawn = "{BEATS}" }}, {{ hang = true }}',
    Behaviour.FLOODS: '{ flood = 20000000 }, { say = "zebra" }',
    Behaviour.GARBLES: r"""{ run = 'printf "\377\376"' }, { say = "zebra" }""",
    Behaviour.HEARS: '{ say = "begun" }, { hear = true }',
    Behaviour.ASKS: '{ ask = "make install" }',
    Behaviour.USES: '{ use = { input = 100, output = 20 } }, { say = "x" }',
}
WHOLE = {
    # a script can't count, but it can be one that fits only the end of the whole prompt
    Behaviour.ECHOES_LENGTH: """
[[turn]]
when = '$(x)`'
steps = [{ say = "70009" }]
""",
    Behaviour.COUNTS: """
[[turn]]
steps = [{ say = "turn 1" }]
[[turn]]
steps = [{ say = "turn 2" }]
[[turn]]
steps = [{ say = "turn 3" }]
""",
}

PROGRAMS = {
    Behaviour.SAYS_WORD: "echo zebra",
    Behaviour.ECHOES_LENGTH: "wc -m",
    Behaviour.WRITES_FILE: "echo x >made.txt",
    Behaviour.FAILS: "echo out of cheese >&2; exit 3",
    Behaviour.LIMITED: "echo 'error: 429 Too Many Requests' >&2; exit 1",
    Behaviour.LIMITED_FOR_HOURS: (
        "echo 'error: 429 Too Many Requests, try again in 2 hours' >&2; exit 1"
    ),
    Behaviour.HANGS: f"echo begun; (trap '' TERM; {BEATS}) & trap '' TERM; while :; do sleep 9; done",
    Behaviour.FLOODS: "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo zebra",
    Behaviour.GARBLES: r"printf '\377\376\n'; echo zebra",
}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def launcher(tmp_path, anyio_backend):
    return await make_launcher("auto", tmp_path / "live")


@pytest.fixture
def place(tmp_path):
    for name in ("home", "work"):
        (tmp_path / name).mkdir(mode=0o700)
    return Box(home=str(tmp_path / "home"), workspace=str(tmp_path / "work"))


class TestScripted(AgentContract):
    """K10: the scripted driver."""

    @pytest.fixture
    def agents(self, launcher):
        def agent(behaviour):
            steps = SCRIPTS.get(behaviour)
            text = WHOLE.get(behaviour) or f"[[turn]]\nsteps = [{steps}]\n"
            return ScriptedAgent(
                read_script(text, "script"), launcher=launcher, clock=SystemClock()
            )

        return agent


class TestCommand(AgentContract):
    """K10: any program."""

    @pytest.fixture(params=["stdin", "file"])
    def agents(self, request, launcher, tmp_path):
        def agent(behaviour):
            program = PROGRAMS.get(behaviour, "echo")
            script = f'exec 0<"$1"; {program}' if request.param == "file" else program
            return CommandAgent(
                ["/bin/sh", "-c", script, "sh"],
                launcher=launcher,
                fallback_box=Box(home=str(tmp_path / "home")),
                clock=SystemClock(),
                prompt=request.param,
                env={"LC_ALL": "C.UTF-8"},
            )

        return agent


# the Responses API says everything five times, and no call may bring more than 32 MB
FLOOD = Say(pieces=("x" * 65_536,) * 80 + (" zebra",))

LIMIT_REACHED = {"error": {"type": "rate_limit_error", "message": "Rate limit reached"}}

ANSWERS = {
    Behaviour.SAYS_WORD: "zebra",
    Behaviour.FAILS: Say(text="out of cheese", fault=Fault.REFUSAL),
    Behaviour.LIMITED: Fault.RATE_LIMITED,
    Behaviour.LIMITED_FOR_HOURS: Say(error=ErrorReply(429, LIMIT_REACHED, {"retry-after": "7200"})),
    Behaviour.HANGS: Say(pieces=("begun", *("…",) * 1000), pause_s=0.05),
    Behaviour.FLOODS: FLOOD,
    Behaviour.GARBLES: Fault.BAD_UTF8,
    Behaviour.USES: Say(text="x", input=100, output=20),
}


class TestModels(AgentContract):
    """K9, K10: models behind an API, which have no workspace."""

    @pytest.fixture
    def place(self):
        return None

    @pytest.fixture(params=CONNECTORS, ids=lambda connector: connector.name)
    async def agents(self, request):
        async with AsyncExitStack() as open_:
            behaviours = [None]
            server = await open_.enter_async_context(
                model_server(lambda asked: answer(behaviours[-1], asked))
            )

            def agent(behaviour):
                behaviours.append(behaviour)
                made = request.param.at(server)
                open_.push_async_callback(made.close)
                return made

            yield agent


def answer(behaviour, asked):
    if behaviour is Behaviour.ECHOES_LENGTH:
        return str(len(asked.user))
    return ANSWERS[behaviour]


async def test_k9_a_prompt_can_be_an_argument(launcher, place, tmp_path):
    """K9: stdin, argument or file."""
    from allstop.testing.agent_contract import RecordingWatch, turn

    agent = CommandAgent(
        ["/bin/echo", "you said:"],
        launcher=launcher,
        fallback_box=place,
        clock=SystemClock(),
        prompt="arg",
    )

    result = await agent.take_turn(turn(place, "two words; $(rm -rf /)"), RecordingWatch())

    assert result.text == "you said: two words; $(rm -rf /)\n"


async def test_a_program_that_is_not_there_is_a_clear_failure(launcher, place):
    from allstop.core.moves import FailureKind
    from allstop.testing.agent_contract import RecordingWatch, turn

    agent = CommandAgent(
        ["/no/such/program"], launcher=launcher, fallback_box=place, clock=SystemClock()
    )

    result = await agent.take_turn(turn(place), RecordingWatch())

    assert result.kind is FailureKind.UNAVAILABLE
    assert "/no/such/program" in result.message


async def test_b7_progress_in_the_middle_of_what_a_program_says_is_told(launcher, place):
    """B7: at any time, but not where it only echoes its prompt, and only as a whole line."""
    from allstop.testing.agent_contract import RecordingWatch, turn

    script = "cat; echo '<promise>PROGRESS: 40% half</promise>'; echo 'say <promise>PROGRESS: 9% x</promise>'; echo bye"
    agent = CommandAgent(
        ["/bin/sh", "-c", script], launcher=launcher, fallback_box=place, clock=SystemClock()
    )
    onlooker = RecordingWatch()

    result = await agent.take_turn(
        turn(place, "do\n<promise>PROGRESS: 7% echoed</promise>\n"), onlooker
    )

    assert result.text.endswith("bye\n")
    assert [(item.kind, item.text) for item in onlooker.items] == [("progress", "40% half")]


TELLS = """
cat >/dev/null
allstop mcp progress 40% the parser reads
echo "told: $(allstop mcp ask 'Which colour?' Red Blue)"
allstop mcp signal DONE 2>&1 || echo "code $?"
allstop list 2>/dev/null || echo "code $?"
mkfifo in out; allstop mcp <in >out & exec 3>in 4<out
echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' >&3
head -c 60 <&4; echo
exec 3>&-; wait; rm in out
allstop mcp signal COMPLETE
"""


@pytest.mark.parametrize("mode", ["on", "off"])
async def test_b7_a_program_signals_tells_and_asks_by_a_command(place, tmp_path, mode):
    """B7, F5: `allstop mcp` in its box, as a server and as a command; with no box as well."""
    from allstop.adapters.agents.turn_socket import TurnSockets
    from allstop.core.moves import Item
    from allstop.core.signals import Signal, SignalClaim
    from allstop.testing.agent_contract import RecordingWatch, turn

    agent = CommandAgent(
        ["/bin/sh", "-c", TELLS],
        launcher=await make_launcher(mode, tmp_path / "live"),
        fallback_box=place,
        clock=SystemClock(),
        sockets=TurnSockets(tmp_path / "desks"),
    )
    watch = RecordingWatch(allows=True, answers=("Blue",))

    result = await agent.take_turn(turn(place), watch)
    await agent.close()

    told, *rest = result.text.splitlines()[1:]
    assert told == "told: Blue"
    assert rest[0].startswith("signal: Invalid enum value 'DONE'")
    assert rest[1:3] == ["code 1", "code 2"]
    assert rest[3].startswith('{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"signal"')
    assert result.claim == SignalClaim(signal=Signal.COMPLETE)
    assert watch.items == [
        Item(kind="progress", text="40% the parser reads"),
        Item(kind="signal", text="COMPLETE"),
    ]
    assert [ask.text for ask in watch.asks] == ["Which colour?"]
