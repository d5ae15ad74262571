"""K9, R17: people set up, try and use Claude Code."""

import anyio
import pytest

from adapters.agents.claude_code.launch_claude import KEY, came_back, write
from allstop.app.agents import registry
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.project import Project
from allstop.app.setup import doctor
from allstop.settings.sources.environment import Environment
from allstop.testing.model_server import model_server
from support.agent_programs import program
from support.person import MERGE_AT_ONCE, Person, at_home

SETTINGS = '[agents.it]\ndriver = "claude-code"\n'


class KeyHolder(Person):
    @property
    def environment(self):
        return {**super().environment, "ANTHROPIC_API_KEY": KEY}

    def sets_up(self, text):
        """Write the person's own settings file, which may set base_url."""
        file = self.home / ".config" / "allstop" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def installs_claude(self):
        (self.home / "bin").mkdir()
        (self.home / "bin" / "claude").symlink_to(program("claude"))


@pytest.fixture
def person(tmp_path):
    plain = at_home(tmp_path)
    person = KeyHolder(plain.home, plain.repository)
    yield person
    person.close()


def project(person, **variables):
    person.sets_up(SETTINGS)
    path = person.environment["PATH"]
    return Project(
        person.repository, Environment(home=person.home, variables={"PATH": path, **variables})
    )


async def test_k9_a_task_is_done_by_claude_code(person):
    """K9: `allstop run`: it writes a file in its workspace, which is checked and merged."""
    person.installs_claude()
    path = str(person.repository / "b.txt")
    done = "It is there now.\n<promise>COMPLETE</promise>"
    async with model_server(
        lambda asked: done if came_back(asked) else write(path, "more\n")
    ) as server:
        person.sets_up(f'{SETTINGS}base_url = "{server.anthropic_url}"\n')
        check = '[[verification.commands]]\nname = "there"\nrun = "grep -q more b.txt"\n'
        person.write("allstop.toml", MERGE_AT_ONCE + check)

        said = await anyio.to_thread.run_sync(person.allstop, "run", "add a line")

    assert "1 verified" in said
    assert person.merged() == ["T1"]
    assert (person.repository / "b.txt").read_text() == "more\n"
    assert not (person.home / ".claude").exists()
    assert server.requests[0].headers["x-api-key"] == KEY


async def test_k9_it_is_tried_with_a_real_call(person):
    """K9: `allstop agents test`."""
    person.installs_claude()
    async with model_server(["a zebra"]) as server:
        person.sets_up(f'{SETTINGS}base_url = "{server.anthropic_url}"\n')

        tried = await anyio.to_thread.run_sync(person.json, "agents", "test", "it")

    assert "a zebra" in str(tried)


def test_r17_a_program_that_is_missing_is_named_with_how_to_get_it(person):
    """R17: before anything starts."""
    at_home_ = project(person, ANTHROPIC_API_KEY=KEY)

    with pytest.raises(AgentSetupError) as raised:
        registry.make_agent(at_home_, None, "it")

    assert "'claude' is not on PATH" in raised.value.message
    assert "npm install -g @anthropic-ai/claude-code" in raised.value.hint


def test_r17_a_key_that_is_missing_is_named(person):
    """R17: the variable."""
    person.installs_claude()

    with pytest.raises(AgentSetupError, match="ANTHROPIC_API_KEY"):
        registry.make_agent(project(person), None, "it")


def test_k9_doctor_says_where_it_is(person):
    """K9: the program and the key's variable, never the key."""
    person.installs_claude()

    (found,) = doctor.look_at_agents(project(person, ANTHROPIC_API_KEY=KEY))

    assert found.ready
    assert found.finding == f"{person.home}/bin/claude, ANTHROPIC_API_KEY is set"
