"""P16: one agent with two accounts, through the settings and a model server."""

import subprocess
import sys

import anyio
import pytest

from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.agents.logins import login_home
from allstop.app.agents.registry import account_names, by_account, settings_of_account
from allstop.app.project import Project
from allstop.settings.sources.environment import Environment
from allstop.testing.model_server import ErrorReply, Say, envelope, model_server
from support.person import at_home

SETTINGS = """
[agents.it]
driver = "anthropic"
accounts = ["team", "spare"]
"""
KEYS = {
    "ANTHROPIC_API_KEY": "sk-team-zebra",
    "ANTHROPIC_API_KEY_SPARE": "sk-spare-zebra",
    "OTHER_API_KEY": "sk-other-zebra",
}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    yield person
    person.close()


def sets_up(person, text):
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def opened(person, text, **variables):
    sets_up(person, text)
    return Project(person.repository, Environment(home=person.home, variables=variables))


async def test_p16_an_exhausted_account_is_followed_by_the_next_one(person):
    def answer(asked):
        if "team" in asked.headers["authorization"]:
            words = "This would exceed the rate limit of sk-other-zebra"
            error = {"type": "rate_limit_error", "message": words}
            body = {"type": "error", "error": error}
            return Say(error=ErrorReply(429, body, {"retry-after": "7200"}))
        return Say(text=envelope("here I am", final=True))

    async with model_server(answer) as server:
        sets_up(person, f'{SETTINGS}base_url = "{server.anthropic_url}"\n')
        done = await anyio.to_thread.run_sync(talk, person)
        keys = [asked.headers["authorization"].rpartition("-")[0] for asked in server.requests]

    assert done.returncode == 0, done.stdout + done.stderr
    assert "here I am" in done.stdout
    assert keys == ["Bearer sk-team", "Bearer sk-spare"]
    status = person.allstop("status")
    assert "◷ account team (at http://127.0.0.1:" in status
    assert "account spare" not in status
    shared = person.home / ".local/state/allstop/account_holds.json"
    assert b"rate limit" in shared.read_bytes()
    for file in (shared, *(person.repository / ".allstop").glob("journal.db*")):
        assert b"zebra" not in file.read_bytes()


def talk(person):
    return subprocess.run(
        [sys.executable, "-m", "allstop", "room", "Talk.", "--agents", "it", "--mode", "single"],
        cwd=person.repository,
        env={**person.environment, **KEYS},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_p16_each_account_has_its_own_key_or_login(person):
    project = opened(person, SETTINGS, **KEYS)
    settings = project.settings.agents["it"]
    team, spare = by_account(project, "it", settings)

    assert (team.account, team.api_key_env) == ("team", None)
    assert (spare.account, spare.api_key_env) == ("spare", "ANTHROPIC_API_KEY_SPARE")
    assert account_names(project, "it", team).name == "team"
    assert account_names(project, "it", spare).name == "spare (ANTHROPIC_API_KEY_SPARE)"
    assert login_home(project, "it", spare).name == "spare"
    assert "sk-spare-zebra" not in project.secrets.redact_all("the key is sk-spare-zebra.")


def test_p16_a_login_names_one_of_the_accounts(person):
    project = opened(person, SETTINGS)

    assert settings_of_account(project, "it", None).account == "team"
    assert settings_of_account(project, "it", "spare").account == "spare"
    with pytest.raises(AgentSetupError) as error:
        settings_of_account(project, "it", "other")
    assert error.value.code == "account_unknown"
    assert "team, spare" in error.value.hint


def test_p16_an_address_with_a_password_is_not_part_of_an_accounts_name(person):
    text = SETTINGS + 'base_url = "http://me:secret-zebra@127.0.0.1:1"\n'
    project = opened(person, text, **KEYS)

    names = account_names(project, "it", project.settings.agents["it"])

    assert "zebra" not in names.name + names.shared
