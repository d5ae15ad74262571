"""How an agent in a box reaches its model: with the real key, or through the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from allstop.app.agents.agent_programs import AgentSetupError, environment
from allstop.app.agents.api_models import PROVIDERS, key_for
from allstop.app.agents.logins import has_login
from allstop.ports import GATEWAY_PORT, Isolation
from allstop.settings.model import Agent, Driver, Network

if TYPE_CHECKING:
    from allstop.adapters.gateway.model_connection import Target
    from allstop.app.project import Project

PLACEHOLDER = "allstop-placeholder"
"""What stands for the key in a box."""

BOX_ADDRESS: Mapping[Driver, str] = {
    Driver.CODEX: f"http://127.0.0.1:{GATEWAY_PORT}/v1",
    Driver.CLAUDE_CODE: f"http://127.0.0.1:{GATEWAY_PORT}",
}
"""The model's address in the box, for each driver with a preset."""

BOXLESS = frozenset({Driver.OPENAI, Driver.ANTHROPIC, Driver.OLLAMA, Driver.SCRIPTED})
"""Drivers whose agents need no network in a box: they run outside, or call no model."""

_VENDOR = {Driver.CODEX: Driver.OPENAI, Driver.CLAUDE_CODE: Driver.ANTHROPIC}


def uses_gateway(project: Project, settings: Agent) -> bool:
    is_wanted = project.settings.sandbox.network is Network.MODEL_ONLY
    return is_wanted and settings.driver in BOX_ADDRESS


def require_gateway(project: Project, name: str, settings: Agent) -> None:
    """Raises AgentSetupError if the network is "model-only" and the agent can't work with that."""
    if project.settings.sandbox.network is not Network.MODEL_ONLY or settings.driver in BOXLESS:
        return
    if settings.driver not in BOX_ADDRESS:
        drivers = ", ".join(sorted(driver.value for driver in BOX_ADDRESS))
        raise AgentSetupError(
            f'agent {name!r}: the driver {settings.driver} can\'t work with network = "model-only"',
            f'only {drivers} can; set [sandbox] network to "full" or "none"',
            code="gateway_unsupported",
        )
    if has_login(project, name, settings):
        raise AgentSetupError(
            f'agent {name!r} is logged in, and network = "model-only" needs a key',
            'name the variable of its key with api_key_env, or set [sandbox] network = "full"',
            code="gateway_needs_key",
        )


def require_box(name: str, isolation: Isolation) -> None:
    """Raises AgentSetupError if there is no sandbox: nothing else could close the network."""
    if not isolation.boxed:
        raise AgentSetupError(
            f'agent {name!r}: network = "model-only" needs a sandbox',
            isolation.hint or 'set [sandbox] mode = "on" or network = "full"',
            code="gateway_needs_sandbox",
        )


class Access(NamedTuple):
    """What an agent in a box is given."""

    base_url: str | None
    key: str


def access(project: Project, name: str, settings: Agent) -> Access:
    """The address and the key for the box; with the gateway, neither is the real one.

    Raises AgentSetupError if the key is missing.
    """
    key = key_for(project, name, settings)
    if not uses_gateway(project, settings):
        return Access(settings.base_url, key)
    if key and any(key in value for value in environment(project, settings).values()):
        raise AgentSetupError(
            f"agent {name!r}: its variables hold the key, which must stay outside the box",
            "remove it from env and pass_env; the gateway adds the key",
            code="gateway_key_passed",
        )
    return Access(BOX_ADDRESS[settings.driver], PLACEHOLDER if key else "")


def target_of(project: Project, name: str, settings: Agent) -> Target:
    """Raises AgentSetupError if the key is missing."""
    from allstop.adapters.gateway.model_connection import Target
    from allstop.metering.wire_formats import Provider

    vendor = _VENDOR[settings.driver]
    return Target(
        provider=Provider(vendor.value),
        base_url=settings.base_url or PROVIDERS[vendor].base_url,
        key=key_for(project, name, settings),
        is_vendors=settings.base_url is None,
    )
