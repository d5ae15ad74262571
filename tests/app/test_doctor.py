"""K14, K17: one sandbox for all: [sandbox] and [limits] hold in rooms and trials as in tasks."""

import os

import pytest

from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents import registry
from allstop.app.setup import doctor
from allstop.testing.agent_contract import RecordingWatch, turn

LOOK = "cat >/dev/null; cat {file}; readlink /proc/self/ns/net; ulimit -f"
SETTINGS = """
[agents.mine]
driver = "command"
command = ["/bin/bash", "-c", "{look}"]

[sandbox]
mode = "on"
"""
STRICT = """
read = ["{file}"]
network = "none"

[limits]
file_mb = 7
"""


async def in_a_room(project):
    launcher = await make_launcher("on", project.live)
    agent = registry.make_agent(project, launcher, "mine")
    return await agent.take_turn(turn(None), RecordingWatch())


async def in_a_trial(project):
    return (await doctor.try_agent(project, "mine", "hello")).result


@pytest.mark.parametrize("taken", [in_a_room, in_a_trial])
async def test_k14_what_the_settings_say_of_the_sandbox_holds(trusted, tmp_path, taken):
    """K14, K17: what it can read, whom it can reach, what it may use."""
    file = tmp_path / "shown"
    file.write_text("shown\n")
    settings = (SETTINGS + STRICT).format(look=LOOK.format(file=file), file=file)

    result = await taken(trusted(settings, other=["x"]))

    shown, network, most = result.text.split()
    assert (shown, most) == ("shown", str(7 * 1024))
    assert network != os.readlink("/proc/self/ns/net")


@pytest.mark.parametrize("taken", [in_a_room, in_a_trial])
async def test_k14_what_is_not_named_is_not_there(trusted, tmp_path, taken):
    file = tmp_path / "hidden"
    file.write_text("hidden\n")

    result = await taken(trusted(SETTINGS.format(look=LOOK.format(file=file)), other=["x"]))

    assert "hidden" not in result.text.split()
    assert result.text.split()[-2:] == [os.readlink("/proc/self/ns/net"), "unlimited"]


async def test_k14_an_agent_is_made_anew_when_its_sandbox_is_another(trusted, person):
    """K14: a server takes up changed settings while it runs."""
    project = trusted(SETTINGS.format(look="true"), other=["x"])
    hired = registry.Agents(project, await make_launcher("on", project.live))
    hired.ensure_agents(["mine"])
    before = hired["mine"]
    hired.ensure_agents(["mine"])
    assert hired["mine"] is before

    stricter = (
        (person.repository / "allstop.toml")
        .read_text()
        .replace('mode = "on"', 'mode = "on"\nnetwork = "none"')
    )
    person.write("allstop.toml", stricter)
    person.commit()
    person.allstop("trust", "--yes")
    project.reload_settings()
    hired.ensure_agents(["mine"])

    assert hired["mine"] is not before
