"""G3: where keys come from, and that no box has one."""

import json

import anyio
import pytest

from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents import registry
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.agents.keys import KEPT, key_for, refresh_key
from allstop.app.agents.logins import has_login
from allstop.app.setup.key_search import key_findings, search_boxes
from allstop.core.moves import Failed, FailureKind, TurnDone
from allstop.settings.model import Agent, Driver
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import model_server
from support.cases import for_each

KEY = "sk-the-real-key-0123456789"
ONLY = '[sandbox]\nnetwork = "{}"\n'
DRIVERS = {
    "codex": 'driver = "codex"\ncommand = ["/bin/true"]\n',
    "claude": 'driver = "claude-code"\ncommand = ["/bin/true"]\n',
    "gemini": 'driver = "acp"\ncommand = ["{bin}/gemini", "--acp"]\n',
    "opencode": 'driver = "acp"\ncommand = ["{bin}/opencode", "acp"]\nmodel = "openai/gpt-5"\n',
    "qwen": 'driver = "acp"\ncommand = ["{bin}/qwen", "--acp"]\n',
    "goose": 'driver = "acp"\ncommand = ["{bin}/goose", "acp"]\nmodel = "anthropic/m"\n',
    "aider": 'driver = "command"\ncommand = ["{bin}/aider"]\nprompt = "arg"\n',
    "mine": 'driver = "command"\ncommand = ["/bin/true"]\n'
    'gateway = {{ speaks = "openai", base_url_env = "URL", key_env = "TOKEN" }}\n',
}
SOURCES = {
    "variable": 'api_key_env = "REAL_KEY"\n',
    "file": 'api_key_file = "~/keys/real"\n',
    "command": 'api_key_command = ["print-key", "vault/real"]\n',
}


def prepare(person):
    person.variables["REAL_KEY"] = KEY
    (person.home / "keys").mkdir(exist_ok=True)
    (person.home / "keys" / "real").write_text(KEY + "\n")
    person.program("print-key", f'#!/bin/sh\necho "$1" >>{person.home}/asked\necho {KEY}\n')
    for name in ("gemini", "opencode", "qwen", "goose", "aider"):
        person.program(name, "#!/bin/sh\n")


def project_with(trusted, person, agents, network="model-only"):
    prepare(person)
    return trusted(ONLY.format(network) + agents, other=["x"])


def tables(person, source, drivers=DRIVERS):
    return "".join(
        f"[agents.{name}]\n{lines.format(bin=person.home / 'bin')}{SOURCES[source]}"
        for name, lines in drivers.items()
    )


CODEX = {"codex": DRIVERS["codex"]}


@pytest.mark.parametrize(
    ("source", "drivers"),
    [
        ("variable", DRIVERS),
        ("file", {"codex": DRIVERS["codex"], "mine": DRIVERS["mine"]}),
        ("command", {"codex": DRIVERS["codex"], "gemini": DRIVERS["gemini"]}),
    ],
    ids=["variable", "file", "command"],
)
async def test_g3_no_box_of_any_driver_has_the_key(trusted, person, source, drivers):
    """G3, K16: searched from inside: environments, /proc, command lines, files."""
    project = project_with(trusted, person, tables(person, source, drivers))

    boxes = await search_boxes(project)

    assert {box.agent for box in boxes} == set(drivers)
    assert all(box.is_metered and not box.has_key for box in boxes)
    (row,) = key_findings(boxes)
    assert row.ok
    assert row.found.startswith(", ".join(drivers))


@pytest.mark.parametrize("source", list(SOURCES))
async def test_g3_the_search_finds_a_key_where_there_is_one(trusted, person, source):
    """With an open network the driver passes the key on."""
    drivers = {name: DRIVERS[name] for name in ("claude", "gemini")}
    project = project_with(trusted, person, tables(person, source, drivers), "full")

    boxes = await search_boxes(project)

    assert [box.has_key for box in boxes] == [True, True]
    assert all(not row.ok and not row.needed for row in key_findings(boxes))


async def test_g3_a_key_that_workspaces_get_a_copy_of_is_told(trusted, person):
    person.write(".env", f"OPENAI_API_KEY={KEY}\n")
    project = project_with(
        trusted,
        person,
        tables(person, "variable", CODEX) + '[workspace]\ncopy = [".env*"]\n',
    )

    (row,) = key_findings(await search_boxes(project))

    assert (row.ok, "[workspace] copy" in row.found) == (False, True)


def agent_of(project, name="codex"):
    return project.settings.agents[name]


async def test_g3_a_command_runs_once_in_five_minutes_and_its_output_is_a_secret(trusted, person):
    """K23: what it printed is redacted from then on."""
    project = project_with(trusted, person, tables(person, "command", CODEX))

    for _ in range(3):
        assert await refresh_key(project, "codex", agent_of(project)) == KEY
    asked = (person.home / "asked").read_text()
    read = project.read_keys[agent_of(project).api_key_command]
    project.read_keys[agent_of(project).api_key_command] = replace_at(read, read.at - 2 * KEPT)
    await refresh_key(project, "codex", agent_of(project))

    assert asked == "vault/real\n"
    assert (person.home / "asked").read_text() == "vault/real\n" * 2
    del person.variables["REAL_KEY"]
    assert KEY not in project.secrets.redact_all(f"it is {KEY}")


def replace_at(read, at):
    return read._replace(at=at)


def test_g3_describing_an_agent_runs_no_command(trusted, person):
    project = project_with(trusted, person, tables(person, "command", CODEX))

    said = registry.describe_launch(project, "codex", agent_of(project))

    assert said.endswith("key by `print-key`")
    assert not (person.home / "asked").exists()


@for_each(
    "program, why",
    [
        ("#!/bin/sh\necho locked >&2; exit 3\n", "exit code 3 locked"),
        ("#!/bin/sh\n", "can't be a key"),
        ("#!/bin/sh\nprintf 'two\\nlines'\n", "can't be a key"),
    ],
)
def test_g3_a_command_that_gives_no_key_says_why(trusted, person, program, why):
    person.program("print-key", program)
    settings = Agent(driver=Driver.CODEX, api_key_command=("print-key",))
    project = person.project()

    with pytest.raises(AgentSetupError) as caught:
        anyio.run(refresh_key, project, "codex", settings)
    project.close()

    assert why in caught.value.message


def test_g3_a_file_that_is_missing_is_named(trusted, person):
    project = project_with(trusted, person, tables(person, "file", CODEX))
    (person.home / "keys" / "real").unlink()

    with pytest.raises(AgentSetupError) as caught:
        key_for(project, "codex", agent_of(project))

    assert "~/keys/real" in caught.value.message


def test_g3_the_file_of_a_key_must_not_be_shown_in_boxes(trusted, person):
    agents = tables(person, "file", CODEX)
    prepare(person)
    project = trusted(
        f'[sandbox]\nnetwork = "model-only"\nread = ["{person.home}/keys"]\n{agents}', other=["x"]
    )

    with pytest.raises(AgentSetupError) as caught:
        registry.make_agent(project, anyio.run(make_launcher, "auto", project.live), "codex")

    assert caught.value.code == "gateway_key_shown"


async def test_g3_a_changed_key_is_used_from_the_next_turn_on(trusted, person):
    """And it reaches the provider."""
    async with model_server(["one", "two"]) as server:
        model = f'driver = "openai"\nmodel = "m"\nbase_url = "{server.openai_url}"\n'
        project = project_with(trusted, person, f"[agents.gpt]\n{model}{SOURCES['file']}")
        agent = registry.make_agent(project, await make_launcher("auto", project.live), "gpt")
        first = await agent.take_turn(turn(None), RecordingWatch())
        (person.home / "keys" / "real").write_text("sk-another-key-9876543210")
        second = await agent.take_turn(turn(None), RecordingWatch())
        (person.home / "keys" / "real").unlink()
        third = await agent.take_turn(turn(None), RecordingWatch())
        await agent.close()

    assert isinstance(first, TurnDone)
    assert isinstance(second, TurnDone)
    assert isinstance(third, Failed)
    assert third.kind is FailureKind.AUTH
    sent = [asked.headers["authorization"] for asked in server.requests]
    assert sent == [f"Bearer {KEY}", "Bearer sk-another-key-9876543210"]


def test_k24_a_key_from_a_file_or_command_takes_precedence_over_a_login(trusted, person):
    project = project_with(trusted, person, tables(person, "file", CODEX))
    home = person.home / ".local" / "state" / "allstop" / "logins" / "codex" / ".codex"
    home.mkdir(parents=True)
    (home / "auth.json").write_text("{}")

    assert not has_login(project, "codex", agent_of(project))


def test_k15_a_repository_needs_trust_for_a_command_or_file_of_a_key(person):
    """K15, G3."""
    prepare(person)
    person.write("allstop.toml", tables(person, "command", CODEX))
    person.commit()

    said = json.loads(person.try_allstop("doctor", "--quick", "--json").stdout)

    untrusted = [row["found"] for row in said["findings"] if row["name"] == "trust"]
    assert any("api_key_command" in each for each in untrusted)
    assert not (person.home / "asked").exists()
