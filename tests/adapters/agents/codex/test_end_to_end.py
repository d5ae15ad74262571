"""K9, K24: people set up, try and use codex."""

import subprocess
import sys

import anyio
import pytest

from adapters.agents.codex.launch_codex import KEY, outputs, run
from allstop.app.agents import registry
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.project import Project
from allstop.app.setup import doctor
from allstop.settings.sources.environment import Environment
from allstop.testing.model_server import envelope, model_server
from support.agent_programs import program
from support.person import MERGE_AT_ONCE, at_home

AGENT = '[agents.it]\ndriver = "codex"\nmodel = "gpt-5.5"\n'


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    (person.home / "bin").mkdir(exist_ok=True)
    (person.home / "bin" / "codex").symlink_to(program("codex"))
    return person


def sets_up(person, text):
    """Write the person's own settings file, which may set base_url."""
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def project(person, text=AGENT, **variables):
    sets_up(person, text)
    variables = {**person.environment, **variables}
    return Project(person.repository, Environment(home=person.home, variables=variables))


async def allstop(person, *arguments):
    done = await anyio.run_process(
        [sys.executable, "-m", "allstop", *arguments],
        cwd=person.repository,
        env={**person.environment, "OPENAI_API_KEY": KEY},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout.decode()


async def test_k9_it_is_found_on_path_tried_and_does_a_task(person):
    """K9: `allstop agents test`, and a task from the first prompt to the merge."""

    def answer(asked):
        if "say yes" in asked.blocks[-1]:
            return "a zebra"
        if not outputs(asked):
            return run("echo zebra >made.txt && git add made.txt && git commit -qm 'Add a zebra'")
        return "It is there.\n<promise>COMPLETE</promise>"

    async with model_server(answer) as server:
        sets_up(person, f'{AGENT}base_url = "{server.openai_url}"\n{MERGE_AT_ONCE}')
        tried = await allstop(person, "agents", "test", "it", "--prompt", "say yes")
        await allstop(person, "run", "add a zebra")

    assert "a zebra" in tried
    assert person.git("show", "HEAD:made.txt") == "zebra"


async def test_k9_it_sits_in_a_room(person):
    """K9, R1: two codex agents talk in envelopes and resume their conversations."""
    two = AGENT + AGENT.replace("agents.it", "agents.other")
    said = []

    def answer(asked):
        said.append(asked)
        to = "other" if len(said) % 2 else "it"
        return envelope(f"word {len(said)}", handoff={"to": to, "task": "go on"})

    async with model_server(answer) as server:
        settings = two.replace("model", f'base_url = "{server.openai_url}"\nmodel')
        sets_up(person, settings)
        shown = await allstop(person, "room", "--agents", "it,other", "--max-rounds", "4", "Talk.")

    assert [f"word {number}" in shown for number in range(1, 5)] == [True] * 4, shown
    spoke = [[m for m in asked.body["input"] if m.get("role") == "assistant"] for asked in said]
    assert [len(own) for own in spoke] == [0, 0, 1, 1]
    assert all("format" in asked.body["text"] for asked in said)


def test_k9_without_the_program_it_says_how_to_get_it(person):
    """K9: before anything starts."""
    (person.home / "bin" / "codex").unlink()

    with pytest.raises(AgentSetupError) as error:
        registry.make_agent(project(person, OPENAI_API_KEY=KEY), None, "it")

    assert error.value.message == "agent 'it': the program 'codex' is not on PATH"
    assert "npm install -g @openai/codex" in error.value.hint


def test_k9_without_a_key_it_names_the_variable(person):
    """K9: before anything starts."""
    with pytest.raises(AgentSetupError, match="OPENAI_API_KEY"):
        registry.make_agent(project(person), None, "it")


@pytest.mark.parametrize(
    ("more", "variables", "found"),
    [
        ("", {"OPENAI_API_KEY": KEY}, "codex, OPENAI_API_KEY is set"),
        ('api_key_env = "MINE"', {"MINE": KEY}, "codex, MINE is set"),
        ('base_url = "http://127.0.0.1:1/v1"\napi_key_env = ""', {}, "codex"),
        ("", {}, "agent 'it' has no key: the variable OPENAI_API_KEY is not set"),
    ],
)
def test_k9_doctor_says_what_would_be_started(person, more, variables, found):
    """K9: and what is missing; never the key itself."""
    (finding,) = doctor.look_at_agents(project(person, AGENT + more + "\n", **variables))

    assert finding.finding.endswith(found)
    assert finding.ready is ("has no key" not in found)
    assert KEY not in str(finding)


def test_k24_a_login_of_its_own_stands_for_a_key(person):
    """K24: in a home of its own, never the user's; `doctor` says who can read it."""
    there = project(person)
    login = person.home / ".local/state/allstop/logins/it/.codex/auth.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")

    (finding,) = doctor.look_at_agents(there)

    assert finding.ready
    assert finding.finding.endswith("logged in; the agent can read that token")
