"""G9: real Codex and real Claude Code work with a login whose tokens never enter their box."""

import json
from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace

from allstop.adapters.clock import SystemClock
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents import registry
from allstop.app.agents.box import own_box
from allstop.app.agents.outside_logins import LoginAddresses
from allstop.app.project import Project
from allstop.app.setup import doctor
from allstop.core.moves import FailureKind, TurnDone
from allstop.metering.stored_logins import LoginKind
from allstop.settings.sources.environment import Environment
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Logins, model_server
from allstop.testing.model_server.login_endpoint import claude_file, codex_file
from real_agents.test_mixed_agents import work
from support.agent_programs import program
from support.person import at_home

AGENTS = {
    "codex": ('driver = "codex"\nmodel = "gpt-5.5"', ".codex/auth.json", codex_file),
    "claude": ('driver = "claude-code"', ".claude/.credentials.json", claude_file),
}
NOW = SystemClock().now()
LOOK_FOR_TOKENS = (
    "(env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; "
    'grep -rs --exclude=found.txt "" ~ . /tmp /run 2>/dev/null) | tr "\\0" "\\n" >found.txt; '
    "ls /proc >>found.txt"
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    yield person
    person.close()


class LoggedIn:
    """A project whose one agent has a login, and the vendor of that login."""

    def __init__(self, person, agent, ends=timedelta(hours=1)):
        lines, path, stores = AGENTS[agent]
        (person.home / "bin").mkdir(exist_ok=True)
        (person.home / "bin" / agent).symlink_to(program(agent))
        settings = person.home / ".config" / "allstop" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f'[agents.it]\n{lines}\n[sandbox]\nnetwork = "model-only"\n')
        self.logins = Logins()
        self.file = person.home / ".local/state/allstop/logins/it" / path
        self.file.parent.mkdir(parents=True)
        self.file.write_text(stores(self.logins, NOW + ends))
        environment = Environment(home=person.home, variables=person.environment)
        self.project = Project(person.repository, environment)
        self.work = person.home / "work"
        self.work.mkdir(mode=0o700)

    async def take_turn(self, server):
        self.project.make_folder()
        launcher = await make_launcher("on", self.project.live)
        addresses = {
            kind: LoginAddresses(url, f"{server.anthropic_url}/v1/oauth/token")
            for kind, url in zip(LoginKind, (server.openai_url, server.anthropic_url), strict=True)
        }
        agent = registry.make_agent(self.project, launcher, "it", addresses=addresses)
        box = own_box(self.project, self.project.folder / "homes" / "it")
        place = replace(box, workspace=str(self.work), fresh=True)
        try:
            return await agent.take_turn(turn(place, "Look around"), RecordingWatch(allows=True))
        finally:
            await agent.close()

    @property
    def tokens(self):
        """All that must not be in the box."""
        stored = json.loads(self.file.read_text())
        own = stored.get("tokens") or stored["claudeAiOauth"]
        names = ("access_token", "refresh_token", "id_token", "accessToken", "refreshToken")
        return {own[name] for name in names if name in own}


@pytest.mark.parametrize("agent", list(AGENTS))
async def test_g9_the_tokens_of_a_login_are_nowhere_in_its_box(person, agent):
    """G9, G3: the model gets the real token, its account too, and the box only placeholders."""
    it = LoggedIn(person, agent)
    secrets = it.tokens
    async with model_server(lambda asked: work(asked, LOOK_FOR_TOKENS), logins=it.logins) as server:
        result = await it.take_turn(server)

    found = (it.work / "found.txt").read_text()
    assert isinstance(result, TurnDone), result
    assert result.usage.input == 100 * len(server.requests) > 0
    assert "allstop-placeholder" in found, "the search would have found a token"
    assert not [secret for secret in secrets if secret in found]
    assert {asked.headers["authorization"] for asked in server.requests} == {
        f"Bearer {it.logins.access}"
    }
    accounts = {asked.headers.get("chatgpt-account-id") for asked in server.requests}
    assert accounts == ({"account-7"} if agent == "codex" else {None})
    assert (server.refused, it.logins.renewals) == (0, [])
    (finding,) = doctor.look_at_agents(it.project)
    assert finding.finding.endswith("logged in; its token stays outside the box")


@pytest.mark.parametrize("agent", list(AGENTS))
async def test_g9_a_login_is_renewed_outside_once(person, agent):
    """G9: after the vendor refused it; what it gives is stored, and the agent notices nothing."""
    it = LoggedIn(person, agent)
    it.logins.access = "the vendor has ended the stored one"
    answer = partial(work, command="echo done >done.txt")
    async with model_server(answer, logins=it.logins) as server:
        result = await it.take_turn(server)

    assert isinstance(result, TurnDone), result
    (renewal,) = it.logins.renewals
    assert (renewal["grant_type"], renewal["refresh_token"]) == ("refresh_token", "refresh-0")
    assert {"access-1", "refresh-1"} <= it.tokens
    used = {asked.headers["authorization"] for asked in server.requests}
    assert used == {"Bearer access-1"}
    assert server.refused == 1


@pytest.mark.parametrize("agent", list(AGENTS))
async def test_g9_a_login_that_has_ended_is_said(person, agent):
    """G9: the turn fails for that reason, and the vendor is not asked for ever."""
    it = LoggedIn(person, agent)
    it.logins.access, it.logins.is_over = "another", True
    async with model_server(["Hi"], logins=it.logins) as server:
        result = await it.take_turn(server)

    assert result.kind is FailureKind.AUTH
    assert "log in again with `allstop agents login`" in result.message
    assert server.requests == []
    assert len(it.logins.renewals) == 1
