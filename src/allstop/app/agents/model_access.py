"""How an agent in a box reaches its model: with the real key, or through the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from allstop.app.agents.agent_programs import AgentSetupError, environment
from allstop.app.agents.api_models import PROVIDERS
from allstop.app.agents.gateway_presets import (
    Configuration,
    GatewayPreset,
    find_gateway_preset,
    needs_model,
    program_of,
)
from allstop.app.agents.keys import has_own_source, key_for, key_name
from allstop.app.agents.logins import has_login, login_home
from allstop.app.agents.outside_logins import ADDRESSES, KINDS, find_outside_login
from allstop.app.secrets import key_file
from allstop.metering.stored_logins import PLACEHOLDER as PLACEHOLDER
from allstop.metering.stored_logins import LoginKind, StoredLogin
from allstop.metering.wire_formats import Provider
from allstop.ports import GATEWAY_PORT, Isolation
from allstop.settings import networks
from allstop.settings.model import Agent, Driver, Network, SandboxMode

if TYPE_CHECKING:
    from allstop.adapters.gateway.model_connection import Target
    from allstop.app.agents.outside_logins import LoginAddresses
    from allstop.app.project import Project

BOX_ORIGIN = f"http://127.0.0.1:{GATEWAY_PORT}"
"""The gateway's address in the box."""

BOXLESS = frozenset({Driver.OPENAI, Driver.ANTHROPIC, Driver.OLLAMA, Driver.SCRIPTED})
"""Drivers whose agents need no network in a box: they run outside, or call no model."""

OTHER_CLOUDS = (
    *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
    *("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"),
)
"""Variables by which programs call a provider whose requests the gateway doesn't know."""

_VENDOR_URL = {
    Provider.OPENAI: PROVIDERS[Driver.OPENAI].base_url,
    Provider.ANTHROPIC: PROVIDERS[Driver.ANTHROPIC].base_url,
    Provider.GEMINI: "https://generativelanguage.googleapis.com",
}


class NoGateway(NamedTuple):
    """Why an agent can't work through the gateway."""

    why: str
    hint: str
    code: str = "gateway_unsupported"


def why_no_gateway(project: Project, name: str, settings: Agent) -> NoGateway | None:
    """None if the agent can work through the gateway."""
    if has_login(project, name, settings) and find_outside_login(project, name, settings) is None:
        hint = "name its key with api_key_env"
        why = "it is logged in, in a way that the gateway doesn't know"
        return NoGateway(why, hint, "gateway_needs_key")
    if needs_model(settings):
        hint = 'name its model with its provider, as in model = "openai/gpt-5.5"'
        return NoGateway(f"{program_of(settings)} uses several providers", hint)
    if find_gateway_preset(settings) is None:
        hint = f"describe it with agents.{name}.gateway"
        return NoGateway("how it uses the gateway is not known", hint)
    given = environment(project, settings)
    if chosen := [each for each in OTHER_CLOUDS if given.get(each)]:
        return NoGateway(f"{chosen[0]} sends it to another provider", f"remove {chosen[0]}")
    return None


def network_of(project: Project, name: str, settings: Agent) -> Network:
    """What the agent reaches. If that isn't set: its model alone, if it can work with that."""
    if (chosen := networks.of_agents(project.settings)) is not None:
        return chosen
    is_open = settings.driver in BOXLESS or why_whole_network(project, name, settings) is not None
    return Network.FULL if is_open else Network.MODEL_ONLY


def why_whole_network(project: Project, name: str, settings: Agent) -> NoGateway | None:
    """Why an agent has the whole network if [sandbox] sets none; None if it has only its model."""
    if project.settings.sandbox.mode is SandboxMode.OFF:
        return NoGateway("the sandbox is off", 'set [sandbox] mode = "auto"')
    if (no := why_no_gateway(project, name, settings)) is not None:
        return no
    if _preset(settings).is_guess:
        hint = 'name its model with its provider, as in model = "openai/gpt-5.5"'
        return NoGateway(f"{program_of(settings)} may choose another provider", hint)
    try:
        _key_outside(project, name, settings)
    except AgentSetupError as error:
        return NoGateway(error.message, error.hint or "see the guide of the gateway", error.code)
    return None


def uses_gateway(project: Project, name: str, settings: Agent) -> bool:
    network = network_of(project, name, settings)
    if network not in (Network.MODEL_ONLY, Network.ALLOW) or settings.driver in BOXLESS:
        return False
    return why_no_gateway(project, name, settings) is None


def require_gateway(project: Project, name: str, settings: Agent) -> None:
    """Raises AgentSetupError if the person set "model-only" and the agent can't work with that.

    With "allow", agents that can't use the gateway reach the allowed hosts.
    """
    if networks.of_agents(project.settings) is not Network.MODEL_ONLY or settings.driver in BOXLESS:
        return
    if (no := why_no_gateway(project, name, settings)) is not None:
        raise AgentSetupError(
            f'agent {name!r} can\'t work with network = "model-only": {no.why}',
            f'{no.hint}, or set [sandbox] network to "allow" with hosts, "full" or "none"',
            code=no.code,
        )


def require_box(name: str, isolation: Isolation) -> None:
    """Raises AgentSetupError if there is no sandbox: nothing else could close the network."""
    if not isolation.boxed:
        raise AgentSetupError(
            f'agent {name!r}: network = "model-only" needs a sandbox',
            isolation.hint or 'set [sandbox] mode = "on" or network = "full"',
            code="gateway_needs_sandbox",
        )


def outside_login(project: Project, name: str, settings: Agent) -> StoredLogin | None:
    """The login of an agent that uses the gateway with it; else None."""
    if not uses_gateway(project, name, settings):
        return None
    return find_outside_login(project, name, settings)


def is_uncapped(project: Project, name: str, settings: Agent) -> bool:
    """Whether the agent's provider refuses output caps, as with a login at ChatGPT."""
    return settings.driver is Driver.CODEX and outside_login(project, name, settings) is not None


class Access(NamedTuple):
    """What an agent in a box is given."""

    base_url: str | None
    key: str


def access(project: Project, name: str, settings: Agent) -> Access:
    """The address and the key for the box; with the gateway, neither is the real one.

    Raises AgentSetupError if the key is missing.
    """
    if not uses_gateway(project, name, settings):
        return Access(settings.base_url, key_for(project, name, settings))
    preset, key = _preset(settings), _key_outside(project, name, settings)
    return Access(BOX_ORIGIN + preset.path, PLACEHOLDER if key else "")


def configuration(project: Project, name: str, settings: Agent) -> Configuration:
    """The variables and files of an ACP agent or another program, besides its key's own variable.

    Raises AgentSetupError if the key is missing.
    """
    given = environment(project, settings)
    if not uses_gateway(project, name, settings):
        return Configuration(env={**given, **_named_key(project, name, settings)})
    made = _preset(settings).configuration(BOX_ORIGIN, PLACEHOLDER)
    _key_outside(project, name, settings)
    return Configuration(env={**given, **made.env}, files=made.files)


def box_variable(settings: Agent) -> str:
    """The variable in which an ACP agent or another program gets its key; "" if none is known."""
    preset = find_gateway_preset(settings)
    return key_name(settings) or (preset.key_env if preset and has_own_source(settings) else "")


def _named_key(project: Project, name: str, settings: Agent) -> Mapping[str, str]:
    """The key of a file or command, for a program that reaches its model by itself."""
    if not has_own_source(settings):
        return {}
    if not (variable := box_variable(settings)):
        raise AgentSetupError(
            f"agent {name!r}: it is not known in which variable the program reads its key",
            "name that variable with api_key_env",
            code="agent_key_variable_unknown",
        )
    return {variable: key_for(project, name, settings)}


def _preset(settings: Agent) -> GatewayPreset:
    preset = find_gateway_preset(settings)
    assert preset is not None, "only agents with a preset use the gateway"
    return preset


def _key_outside(project: Project, name: str, settings: Agent) -> str:
    """The real key, which nothing shows in the box.

    Raises AgentSetupError if it is missing, or would be in the box.
    """
    key = real_key(project, name, settings)
    _refuse_shown_file(project, name, settings)
    env = environment(project, settings)
    if settings.driver in (Driver.ACP, Driver.COMMAND):
        env.update(_preset(settings).configuration(BOX_ORIGIN, PLACEHOLDER).env)
    _refuse_key(name, key, env)
    return key


def _refuse_key(name: str, key: str, env: Mapping[str, str]) -> None:
    if key and any(key in value for value in env.values()):
        raise AgentSetupError(
            f"agent {name!r}: its variables hold the key, which must stay outside the box",
            "remove it from env and pass_env; the gateway adds the key",
            code="gateway_key_passed",
        )


def _refuse_shown_file(project: Project, name: str, settings: Agent) -> None:
    if settings.api_key_file is not None:
        what, file = "the file of its key", key_file(project.environment, settings.api_key_file)
    elif has_login(project, name, settings):
        what, file = "its login", login_home(project, name, settings)
    else:
        return
    file, home = file.resolve(), project.environment.home
    for path in project.settings.sandbox.read:
        shown = Path(path.replace("~", str(home), 1) if path.startswith("~") else path).resolve()
        if file.is_relative_to(shown) or shown.is_relative_to(file):
            raise AgentSetupError(
                f"agent {name!r}: [sandbox] read shows {what} in every box",
                f"remove the path {path}, or move the file of a key out of it",
                code="gateway_key_shown",
            )


def real_key(project: Project, name: str, settings: Agent) -> str:
    """The key that the gateway adds; "" if the server needs none, or there is a login.

    Raises AgentSetupError if it is missing.
    """
    if has_login(project, name, settings):
        return ""
    preset, given = _preset(settings), environment(project, settings)
    is_bare = settings.api_key_env is None and not has_own_source(settings)
    if is_bare and settings.driver in (Driver.ACP, Driver.COMMAND):
        if key := given.get(preset.key_env, "").strip():
            return key
        settings = replace(settings, api_key_env=preset.key_env)
    return key_for(project, name, settings)


def target_of(
    project: Project,
    name: str,
    settings: Agent,
    addresses: Mapping[LoginKind, LoginAddresses] = ADDRESSES,
) -> Target:
    """Raises AgentSetupError if the key is missing."""
    from allstop.adapters.gateway.model_connection import Target

    preset = _preset(settings)
    if has_login(project, name, settings):
        kind = KINDS[settings.driver]
        return Target(
            provider=preset.provider,
            base_url=addresses[kind].model,
            key="",
            is_capped=kind is not LoginKind.CODEX,
        )
    url = settings.base_url
    if url is None and preset.base_url_env:
        url = environment(project, settings).get(preset.base_url_env)
    return Target(
        provider=preset.provider,
        base_url=url or _VENDOR_URL[preset.provider],
        key=real_key(project, name, settings),
        is_vendors=url is None,
    )
