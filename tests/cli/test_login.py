"""K11, K24: logins of agents, each in a home of its own."""

import json
import signal
import subprocess
import sys
import time

import pytest

from support.agent_programs import program

SETTINGS = '[agents.it]\ndriver = "{driver}"\n'
STAND_IN = """#!/bin/sh
if [ "$1" = auth ]; then
    mkdir -p "$HOME/.claude"
    env >"$HOME/environment"
    ls -A "$HOME" >"$HOME/found"
    read answer
    [ "$answer" = yes ] || exit 7
    echo "token-$3" >"$HOME/.claude/.credentials.json"
    exit 0
fi
echo planted >"$HOME/.claude/settings.json"
read prompt
token=$(cat "$HOME/.claude/.credentials.json")
echo '{"type":"result","subtype":"success","result":"'"$token key=$ANTHROPIC_API_KEY $(ls /home)"'"}'
"""


@pytest.fixture
def claude(person):
    """A program in place of Claude Code, and the person's own login next to it."""
    person.program("claude", STAND_IN)
    own = person.home / ".claude" / ".credentials.json"
    own.parent.mkdir()
    own.write_text("the person's own")
    sets_up(person, SETTINGS.format(driver="claude-code"))
    return person


def sets_up(person, text):
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def home_of(person, account="it"):
    return person.home / ".local/state/allstop/logins" / account


def logs_in(person, *words, answer="yes", code=0, **variables):
    done = subprocess.run(
        [sys.executable, "-m", "allstop", "agents", "login", "it", *words],
        cwd=person.repository,
        env={**person.environment, **variables},
        input=f"{answer}\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_k24_a_login_is_made_in_a_home_of_its_own_and_used_in_the_box(claude):
    """K11, K24: no key goes in or comes near; the user's own login is never in sight."""
    person = claude
    assert "has no key" in person.allstop("agents")

    said = logs_in(person, "--", "mine", ANTHROPIC_API_KEY="sk-secret", GITHUB_TOKEN="secret")

    home = home_of(person)
    assert "the agent can read that token" in said
    assert (home / ".claude" / ".credentials.json").read_text() == "token-mine\n"
    environment = (home / "environment").read_text()
    assert "secret" not in environment
    assert f"HOME={person.home}\n" not in environment
    assert home.stat().st_mode & 0o777 == 0o700
    tried = person.allstop("agents", "test", "it")
    assert "token-mine key= agent" in tried
    assert "logged in; the agent can read that token" in person.try_allstop("doctor").stdout
    assert (person.home / ".claude" / ".credentials.json").read_text() == "the person's own"


def test_k15_a_new_login_finds_nothing_that_an_agent_has_left(claude):
    """K15, K24: an agent can write to that home, so the host never runs anything in it."""
    person = claude
    logs_in(person)
    person.allstop("agents", "test", "it")
    assert (home_of(person) / ".claude" / "settings.json").exists()

    logs_in(person, "--", "again")

    assert (home_of(person) / "found").read_text().split() == [".claude", "environment", "found"]
    assert not (home_of(person) / ".claude" / "settings.json").exists()
    assert (home_of(person) / ".claude" / ".credentials.json").read_text() == "token-again\n"


def test_k24_a_login_that_fails_changes_nothing(claude):
    person = claude
    logs_in(person, "--", "first")

    said = logs_in(person, "--", "second", answer="no", code=2)

    assert "ended with exit code 7" in said
    assert (home_of(person) / ".claude" / ".credentials.json").read_text() == "token-first\n"
    assert [each.name for each in home_of(person).parent.iterdir()] == ["it"]


def test_k24_a_named_key_comes_first_and_an_account_is_shared(claude):
    """K24: agents of one account have one login."""
    person = claude
    agent = SETTINGS.format(driver="claude-code")
    shared = agent + 'account = "team"\n' + agent.replace("it", "other", 1) + 'account = "team"\n'
    sets_up(person, shared)

    logs_in(person)

    assert home_of(person, "team").is_dir()
    assert person.allstop("agents").count("logged in") == 2
    sets_up(person, agent + 'account = "team"\napi_key_env = "MINE"\n')
    assert "the variable MINE is not set" in person.allstop("agents")


def test_k24_an_agent_without_a_login_is_refused(person):
    sets_up(person, SETTINGS.format(driver="openai"))

    assert "openai has no login" in person.refuses("agents", "login", "it")
    assert "there is no agent 'nobody'" in person.refuses("agents", "login", "nobody")


def test_k24_the_real_codex_logs_in(person):
    """K24: with a dummy key, offline; its own file is in its own home."""
    (person.home / "bin").mkdir(exist_ok=True)
    (person.home / "bin" / "codex").symlink_to(program("codex"))
    sets_up(person, SETTINGS.format(driver="codex"))

    logs_in(person, "--", "--with-api-key", answer="sk-dummy-key")

    kept = json.loads((home_of(person) / ".codex" / "auth.json").read_text())
    assert kept["OPENAI_API_KEY"] == "sk-dummy-key"
    assert "codex, logged in; the agent can read that token" in person.allstop("agents")
    assert not (person.home / ".codex").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_k24_an_interrupted_login_leaves_no_folder(claude, number):
    person = claude
    command = [sys.executable, "-m", "allstop", "agents", "login", "it"]
    folder = home_of(person).parent
    with subprocess.Popen(
        command, cwd=person.repository, env=person.environment, stdin=subprocess.PIPE
    ) as login:
        ends_at = time.monotonic() + 60
        while not (folder.is_dir() and any(folder.glob(".new-*/home/found"))):
            assert time.monotonic() < ends_at, "the login did not start"
            time.sleep(0.05)
        login.send_signal(number)
        login.wait(60)

    assert list(folder.iterdir()) == []


def test_k24_an_acp_agent_with_a_known_login_logs_in(person):
    """K24: its login is kept in a home of its own, as for codex."""
    person.program("opencode", '#!/bin/sh\necho "$@" >"$HOME/token"\n')
    sets_up(person, SETTINGS.format(driver="acp") + 'command = ["opencode", "acp"]\n')

    logs_in(person)

    assert (home_of(person) / "token").read_text() == "auth login\n"
    assert "logged in" in person.allstop("agents")


def test_k24_presets_say_which_agents_are_installed(person):
    person.program("qwen", "#!/bin/sh\n")

    said = person.allstop("agents", "presets")

    assert "✓ qwen       acp          qwen --acp" in said
    assert "- goose" in said
