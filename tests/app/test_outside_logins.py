"""G9: which agents with a login use the gateway, and what their boxes get."""

import json
from datetime import timedelta

import pytest

from allstop.adapters.clock import SystemClock
from allstop.app.agents import registry
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.agents.logins import login_home
from allstop.app.agents.model_access import (
    access,
    is_uncapped,
    network_of,
    target_of,
    uses_gateway,
    why_whole_network,
)
from allstop.app.agents.outside_logins import box_files, find_outside_login, own_answers
from allstop.app.agents.token_caps import HOLD_WITHIN_A_CALL, describe_budgets
from allstop.app.setup import doctor
from allstop.settings.model import Network
from allstop.testing.model_server import Logins
from allstop.testing.model_server.login_endpoint import claude_file, codex_file

NOW = SystemClock().now()
CODEX = ('driver = "codex"\n', ".codex/auth.json", codex_file)
CLAUDE = ('driver = "claude-code"\n', ".claude/.credentials.json", claude_file)


def project_of(trusted, person, driver, *, network="model-only", more="", text=None, box=""):
    lines, path, stores = driver
    for name in ("codex", "claude"):
        person.program(name, "#!/bin/sh\n")
    chosen = f'network = "{network}"\n' if network else ""
    project = trusted(f"[sandbox]\n{chosen}{box}[agents.it]\n{lines}{more}", other=["x"])
    file = login_home(project, "it", project.settings.agents["it"]) / path
    file.parent.mkdir(parents=True)
    file.write_text(text or stores(Logins(), NOW + timedelta(hours=1)))
    project.settings.agents.pop("other", None)
    return project, project.settings.agents["it"]


@pytest.mark.parametrize("driver", [CODEX, CLAUDE], ids=["codex", "claude"])
def test_g9_a_login_stays_outside_and_its_calls_go_to_the_vendor(trusted, person, driver):
    project, settings = project_of(trusted, person, driver)

    assert uses_gateway(project, "it", settings)
    assert access(project, "it", settings).key == ""
    target = target_of(project, "it", settings)
    assert target.key == ""
    assert target.base_url in ("https://chatgpt.com/backend-api/codex", "https://api.anthropic.com")
    login = find_outside_login(project, "it", settings)
    ((path, text),) = box_files(project, login).items()
    assert path == f"/home/agent/{driver[1]}"
    assert "refresh-0" not in text
    assert bool(own_answers(login)) == (driver is CODEX)
    (finding,) = doctor.look_at_agents(project)
    assert finding.finding.endswith("logged in; its token stays outside the box")


@pytest.mark.parametrize("driver", [CODEX, CLAUDE], ids=["codex", "claude"])
def test_g1_g9_a_login_stays_outside_by_default(trusted, person, driver):
    project, settings = project_of(trusted, person, driver, network=None)

    assert uses_gateway(project, "it", settings)
    assert network_of(project, "it", settings) is Network.MODEL_ONLY


def test_g1_k24_a_login_of_another_form_has_the_whole_network_by_default(trusted, person):
    """G1, K24: `doctor` says so."""
    project, settings = project_of(trusted, person, CODEX, network=None, text="not JSON")

    assert network_of(project, "it", settings) is Network.FULL
    assert "a way that the gateway doesn't know" in why_whole_network(project, "it", settings).why


def test_g9_g5_budgets_with_a_login_at_chatgpt_hold_to_within_a_call(trusted, person):
    """G9, G5: it refuses output caps; doctor and the board say so."""
    project, settings = project_of(trusted, person, CODEX)

    assert is_uncapped(project, "it", settings)
    assert not target_of(project, "it", settings).is_capped
    assert doctor.look_at_agents(project)[0].token_budgets == HOLD_WITHIN_A_CALL
    assert "may be passed by one call" in describe_budgets(project)


def test_g9_with_a_login_at_claude_calls_are_capped(trusted, person):
    project, settings = project_of(trusted, person, CLAUDE)

    assert not is_uncapped(project, "it", settings)
    assert target_of(project, "it", settings).is_capped


@pytest.mark.parametrize(
    ("driver", "text"),
    [
        (CODEX, '{"OPENAI_API_KEY": "sk-own", "tokens": null}'),
        (CODEX, "not JSON"),
        (CLAUDE, '{"other": {}}'),
    ],
)
def test_k24_a_login_of_another_form_stays_in_its_home(trusted, person, driver, text):
    """G9, K24: the gateway can't add it, and says so."""
    project, settings = project_of(trusted, person, driver, text=text)

    assert not uses_gateway(project, "it", settings)
    with pytest.raises(AgentSetupError) as caught:
        registry.make_agent(project, None, "it")
    assert caught.value.code == "gateway_needs_key"
    assert "a way that the gateway doesn't know" in caught.value.message


def test_k24_with_the_whole_network_a_login_is_in_its_box(trusted, person):
    project, settings = project_of(trusted, person, CODEX, network="full")

    assert not uses_gateway(project, "it", settings)
    (finding,) = doctor.look_at_agents(project)
    assert finding.finding.endswith("logged in; the agent can read that token")


@pytest.mark.parametrize("shown", ["logins", "logins/it/.codex/auth.json"])
def test_g9_a_login_that_is_shown_in_boxes_is_refused(trusted, person, shown):
    path = f"{person.home}/.local/state/allstop/{shown}"
    project, settings = project_of(trusted, person, CODEX, box=f'read = ["{path}"]\n')

    with pytest.raises(AgentSetupError) as caught:
        access(project, "it", settings)

    assert caught.value.code == "gateway_key_shown"
    assert "shows its login in every box" in caught.value.message


def test_g9_a_key_takes_precedence_over_a_login(trusted, person):
    person.variables["MINE"] = "sk-own-key-0123456789"
    project, settings = project_of(trusted, person, CODEX, more='api_key_env = "MINE"\n')

    assert find_outside_login(project, "it", settings) is None
    assert target_of(project, "it", settings).key == "sk-own-key-0123456789"
    assert json.dumps(box_files(project, None)) == "{}"
