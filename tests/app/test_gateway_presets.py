"""G8: what each known program gets in its box, and which agents can use the gateway."""

import json

import pytest

from allstop.app.agents import registry
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.agents.model_access import (
    PLACEHOLDER,
    configuration,
    target_of,
    uses_gateway,
    why_no_gateway,
)
from allstop.app.agents.token_caps import HOLD_TO_THE_CALL, describe_budgets
from support.cases import for_each

KEY = "sk-the-real-key-0123456789"
ACP = 'driver = "acp"\ncommand = ["{}", "acp"]\n'
AIDER = 'driver = "command"\ncommand = ["aider"]\n'


def project_of(trusted, person, agent, more=""):
    person.variables |= {"MY_KEY": KEY, "OPENAI_API_KEY": KEY}
    settings = f'[sandbox]\nnetwork = "model-only"\n[agents.it]\n{agent}'
    return trusted(settings + more, other=["x"])


def configured(trusted, person, agent):
    project = project_of(trusted, person, agent)
    settings = project.settings.agents["it"]
    made = configuration(project, "it", settings)
    return made, target_of(project, "it", settings)


CASES = [
    ("gemini", ACP, "gemini-2.5-pro", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "gemini"),
    ("qwen", ACP, "qwen3", "OPENAI_API_KEY", "OPENAI_BASE_URL", "openai"),
    ("goose", ACP, "openai/m", "OPENAI_API_KEY", "OPENAI_HOST", "openai"),
    ("goose", ACP, "anthropic/m", "ANTHROPIC_API_KEY", "ANTHROPIC_HOST", "anthropic"),
    ("goose", ACP, "google/m", "GOOGLE_API_KEY", "GOOGLE_HOST", "gemini"),
    ("aider", AIDER, "openai/m", "OPENAI_API_KEY", "OPENAI_API_BASE", "openai"),
    ("aider", AIDER, "anthropic/m", "ANTHROPIC_API_KEY", "ANTHROPIC_API_BASE", "anthropic"),
    ("claude-agent-acp", ACP, "m", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "anthropic"),
]


@for_each("program, lines, model, key_env, url_env, provider", CASES)
def test_g8_a_program_gets_the_gateways_address_and_a_placeholder(
    trusted, person, program, lines, model, key_env, url_env, provider
):
    agent = lines.format(program) + f'model = "{model}"\napi_key_env = "MY_KEY"\n'

    made, target = configured(trusted, person, agent)

    assert made.env[key_env] == PLACEHOLDER
    assert made.env[url_env].startswith("http://127.0.0.1:8787")
    assert KEY not in repr(made)
    assert (target.provider, target.key) == (provider, KEY)
    assert target.is_vendors


@for_each(
    "model, provider, address",
    [
        ("openai/gpt-5", "openai", "http://127.0.0.1:8787/v1"),
        ("anthropic/claude-x", "anthropic", "http://127.0.0.1:8787/v1"),
        ("google/gemini-x", "google", "http://127.0.0.1:8787/v1beta"),
    ],
)
def test_g8_opencode_uses_the_provider_that_its_model_names(
    trusted, person, model, provider, address
):
    agent = ACP.format("opencode") + f'model = "{model}"\napi_key_env = "MY_KEY"\n'

    made, _ = configured(trusted, person, agent)
    config = json.loads(made.env["OPENCODE_CONFIG_CONTENT"])

    assert (config["model"], config["enabled_providers"]) == (model, [provider])
    assert config["provider"][provider]["options"] == {"baseURL": address, "apiKey": PLACEHOLDER}


def test_g8_opencode_calls_a_compatible_server_by_chat_completions(trusted, person):
    more = 'model = "big/zebra"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "MY_KEY"\n'

    made, target = configured(trusted, person, ACP.format("opencode") + more)
    config = json.loads(made.env["OPENCODE_CONFIG_CONTENT"])

    assert config["model"] == "big/zebra"
    assert config["provider"]["big"]["npm"] == "@ai-sdk/openai-compatible"
    assert (target.base_url, target.is_vendors) == ("http://127.0.0.1:9/v1", False)


def test_g8_an_address_and_a_key_in_the_agents_variables_are_used_outside(trusted, person):
    """As `allstop init` wrote them before there was a gateway."""
    person.variables["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    passed = 'pass_env = ["OPENAI_API_KEY", "OPENAI_BASE_URL"]\n'

    made, target = configured(trusted, person, ACP.format("qwen") + passed)

    assert target.base_url == "http://127.0.0.1:9/v1"
    assert target.key.startswith("sk-")
    assert made.env["OPENAI_BASE_URL"] == "http://127.0.0.1:8787/v1"
    assert made.env["OPENAI_API_KEY"] == PLACEHOLDER


OWN = '[agents.it.gateway]\nspeaks = "anthropic"\nbase_url_env = "URL"\nkey_env = "TOKEN"\n'


def test_g8_any_other_program_works_if_the_person_says_how(trusted, person):
    agent = 'driver = "command"\ncommand = ["/bin/true"]\napi_key_env = "MY_KEY"\n' + OWN

    made, target = configured(trusted, person, agent)

    assert made.env == {"URL": "http://127.0.0.1:8787", "TOKEN": PLACEHOLDER}
    assert (target.provider, target.key) == ("anthropic", KEY)


@for_each(
    "agent, why",
    [
        ('driver = "command"\ncommand = ["/bin/true"]\n', "is not known"),
        (ACP.format("opencode"), "several providers"),
        (ACP.format("goose"), "several providers"),
        (ACP.format("cursor-agent"), "is not known"),
    ],
)
def test_g8_an_agent_that_can_not_use_the_gateway_is_told_why(trusted, person, agent, why):
    project = project_of(trusted, person, agent)
    settings = project.settings.agents["it"]

    assert why in why_no_gateway(project, "it", settings).why
    assert not uses_gateway(project, "it", settings)
    with pytest.raises(AgentSetupError) as caught:
        registry.describe_launch(project, "it", settings)
    assert caught.value.code == "gateway_unsupported"


def test_g8_a_key_that_is_missing_is_named(trusted, person):
    project = project_of(trusted, person, ACP.format("gemini"))
    settings = project.settings.agents["it"]

    with pytest.raises(AgentSetupError) as caught:
        configuration(project, "it", settings)

    assert "GEMINI_API_KEY" in caught.value.message


def test_g3_a_key_in_another_variable_of_a_program_is_refused(trusted, person):
    agent = ACP.format("gemini") + 'api_key_env = "MY_KEY"\npass_env = ["MY_KEY"]\n'
    project = project_of(trusted, person, agent)

    with pytest.raises(AgentSetupError) as caught:
        configuration(project, "it", project.settings.agents["it"])

    assert caught.value.code == "gateway_key_passed"


def test_k5_budgets_of_an_acp_agent_hold_to_the_call(trusted, person):
    """NA3: what the gateway counts replaces the agent's own report."""
    agent = ACP.format("gemini") + 'api_key_env = "MY_KEY"\n'
    project = project_of(trusted, person, agent)
    project.settings.agents.pop("other", None)

    assert describe_budgets(project) == HOLD_TO_THE_CALL
