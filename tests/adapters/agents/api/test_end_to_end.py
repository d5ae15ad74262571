"""K9, R17: people set up and try agents that call a model's API."""

import subprocess
import sys

import pytest

from allstop.app.agents import registry
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.project import Project
from allstop.settings.sources.environment import Environment
from support.api_agents import KEY
from support.person import Person, at_home

AGENTS = {
    "openai": '[agents.it]\ndriver = "openai"\nbase_url = "{url}/v1"\n',
    "ollama": '[agents.it]\ndriver = "ollama"\nbase_url = "{url}/v1"\n',
    "anthropic": '[agents.it]\ndriver = "anthropic"\nbase_url = "{url}"\n',
}
VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class KeyHolder(Person):
    keys = {}  # noqa: RUF012

    @property
    def environment(self):
        return {**super().environment, **self.keys}

    def sets_up(self, text):
        """Write the person's own settings file, which may set base_url."""
        file = self.home / ".config" / "allstop" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def person(tmp_path):
    plain = at_home(tmp_path)
    return KeyHolder(plain.home, plain.repository)


@pytest.fixture
def server():
    """Run the model server as a separate program; its address."""
    command = [sys.executable, "-m", "allstop.testing.model_server", "--say", "a zebra"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture(params=AGENTS)
def driver(request):
    return request.param


def test_k9_an_agent_is_tried_with_a_real_call(person, server, driver):
    """K9: `allstop agents test`, against a server with the provider's wire format."""
    person.sets_up(AGENTS[driver].format(url=server))
    person.keys = {VARIABLES.get(driver, "UNUSED"): KEY}

    tried = person.json("agents", "test", "it")

    assert "a zebra" in str(tried)


def test_k9_r17_a_missing_key_is_named_before_anything_starts(person, server):
    """R17, K9: the error names the variable and the remedy."""
    person.sets_up(AGENTS["anthropic"].format(url=server))

    said = person.refuses("agents", "test", "it")

    assert "ANTHROPIC_API_KEY" in said
    assert "api_key_env" in said


def test_k9_doctor_looks_for_the_key(person, server):
    """K9: present and missing keys."""
    person.sets_up(AGENTS["openai"].format(url=server))

    without = person.try_allstop("doctor").stdout
    person.keys = {"OPENAI_API_KEY": KEY}
    with_it = person.try_allstop("doctor").stdout

    assert "OPENAI_API_KEY is not set" in " ".join(without.split())
    assert "gpt-6.1-sol" in with_it
    assert KEY not in with_it


def project(person, text, **variables):
    person.sets_up(text)
    return Project(person.repository, Environment(home=person.home, variables=variables))


@pytest.mark.parametrize(
    ("text", "variables", "missing"),
    [
        ('driver = "openai"', {}, "OPENAI_API_KEY"),
        ('driver = "openai"', {"OPENAI_API_KEY": " "}, "OPENAI_API_KEY"),
        ('driver = "anthropic"', {"OPENAI_API_KEY": "x"}, "ANTHROPIC_API_KEY"),
        ('driver = "anthropic"\napi_key_env = "MINE"', {"ANTHROPIC_API_KEY": "x"}, "MINE"),
        ('driver = "ollama"\napi_key_env = "MINE"', {}, "MINE"),
        ('driver = "openai"', {"OPENAI_API_KEY": "a\nb"}, "OPENAI_API_KEY"),
    ],
)
def test_k9_no_key_no_agent(person, text, variables, missing):
    """K9: the check comes before anything runs."""
    at_home_ = project(person, f"[agents.it]\n{text}\n", **variables)

    with pytest.raises(AgentSetupError, match=missing):
        registry.make_agent(at_home_, None, "it")


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ('driver = "openai"', {"OPENAI_API_KEY": "x"}),
        ('driver = "openai"\nbase_url = "http://127.0.0.1:1/v1"\napi_key_env = ""', {}),
        ('driver = "anthropic"\napi_key_env = "MINE"', {"MINE": "x"}),
        ('driver = "ollama"', {}),
    ],
)
def test_k9_with_a_key_or_without_need_of_one(person, text, variables):
    """K9: any compatible address, with its own key or none."""
    agent = registry.make_agent(project(person, f"[agents.it]\n{text}\n", **variables), None, "it")

    assert agent.abilities.usage
    assert not agent.abilities.needs_box


HEAVY = ("genai_prices", "httpx2", "pydantic")


def test_q8_k9_the_http_client_is_imported_only_where_it_is_used():
    """Q8, K9: `allstop --help` doesn't import them."""
    command = [sys.executable, "-X", "importtime", "-m", "allstop", "--help"]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    imported = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "allstop" in imported
    assert imported.isdisjoint(HEAVY)
