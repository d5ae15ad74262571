"""Q18, K13: faults of model servers reach real agents through the gateway, each with its kind."""

import pytest
from msgspec.structs import replace

from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents import registry
from allstop.app.agents.box import own_box
from allstop.app.project import Project
from allstop.core.moves import FailureKind, TurnDone
from allstop.settings.sources.environment import Environment
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Fault, Say, model_server
from support.agent_programs import program
from support.person import at_home
from support.sweeps import short

KEY = "sk-the-real-key-0123456789"
ACP = 'driver = "acp"\ncommand = ["{}", "{}"]\nmodel = "{}"\n'
AGENTS = {
    "codex": 'driver = "codex"\nmodel = "gpt-5.5"\n',
    "claude": 'driver = "claude-code"\n',
    "opencode": ACP.format("opencode", "acp", "openai/gpt-5"),
    "gemini": ACP.format("gemini", "--acp", "gemini-2.5-pro"),
}
KINDS = {
    Fault.UNAUTHORIZED: FailureKind.AUTH,
    Fault.RATE_LIMITED: FailureKind.RATE_LIMITED,
    Fault.QUOTA: FailureKind.BILLING,
    Fault.SERVER_ERROR: FailureKind.OVERLOADED,
    Fault.OVERLOADED: FailureKind.OVERLOADED,
    Fault.BAD_REQUEST: FailureKind.BAD_REQUEST,
    Fault.TOO_LONG: FailureKind.CONTEXT,
    Fault.NO_MODEL: FailureKind.BAD_REQUEST,
    Fault.REDIRECT: FailureKind.BAD_REQUEST,
    Fault.CLOSED: FailureKind.NETWORK,
    Fault.CUT: FailureKind.NETWORK,
    Fault.GARBAGE: FailureKind.NETWORK,
    Fault.HTML: FailureKind.NETWORK,
    Fault.ERROR_EVENT: FailureKind.OVERLOADED,
    Fault.ENDLESS_LINE: FailureKind.NETWORK,
    Fault.ENDLESS_ERROR: FailureKind.OVERLOADED,
}
RECOVERS = {("claude", Fault.ERROR_EVENT)}
"""Claude Code asks once more, without a stream."""

SAMPLES = [
    ("codex", [Fault.UNAUTHORIZED, Fault.QUOTA, Fault.TOO_LONG, Fault.CUT, Fault.HTML]),
    ("claude", [Fault.NO_MODEL, Fault.OVERLOADED, Fault.REDIRECT, Fault.ENDLESS_LINE]),
]
WHOLE = [
    (name, list(KINDS)[first : first + 4]) for name in AGENTS for first in range(0, len(KINDS), 4)
]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    yield person
    person.close()


class Behind:
    """A real agent whose calls go through the gateway."""

    def __init__(self, person, name, server):
        (person.home / "bin").mkdir(exist_ok=True)
        for each in (name, "node") if "acp" in AGENTS[name] else (name,):
            (person.home / "bin" / each).symlink_to(program(each))
        url = server.openai_url if name in ("codex", "opencode") else server.anthropic_url
        file = person.home / ".config" / "allstop" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = f'{AGENTS[name]}base_url = "{url}"\napi_key_env = "REAL_KEY"\n'
        file.write_text(f'[agents.it]\n{lines}[sandbox]\nnetwork = "model-only"\n')
        variables = {**person.environment, "REAL_KEY": KEY}
        self.project = Project(person.repository, Environment(home=person.home, variables=variables))  # fmt: skip
        self.work = person.home / "work"
        self.work.mkdir(mode=0o700)

    async def take_turn(self, watch=None):
        self.project.make_folder()
        launcher = await make_launcher("on", self.project.live)
        agent = registry.make_agent(self.project, launcher, "it")
        box = own_box(self.project, self.project.folder / "homes" / "it")
        place = replace(box, workspace=str(self.work), fresh=True)
        try:
            return await agent.take_turn(turn(place, "Say hello"), watch or RecordingWatch())
        finally:
            await agent.close()


@pytest.mark.timeout(600)  # some programs try again for a minute
@pytest.mark.parametrize(("name", "faults"), short(WHOLE, SAMPLES))
async def test_q18_each_fault_of_a_model_has_its_kind_behind_the_gateway(person, name, faults):
    """Q18, K13, G6: and the next turn works again."""
    answers = [Say(text="hello")]
    results = {}
    async with model_server(lambda asked: answers[0]) as server:
        agent = Behind(person, name, server)
        for fault in faults:
            answers[0] = fault
            results[fault] = await agent.take_turn()
        answers[0] = Say(text="hello")
        last = await agent.take_turn()

    kinds = {fault: getattr(result, "kind", None) for fault, result in results.items()}
    assert kinds == {fault: None if (name, fault) in RECOVERS else KINDS[fault] for fault in faults}
    assert KEY not in str(results)
    assert isinstance(last, TurnDone), last
