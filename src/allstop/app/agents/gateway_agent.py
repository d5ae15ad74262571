"""Puts the gateway between an agent and its model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from allstop.app.agents.box import own_box, without_network
from allstop.app.agents.model_access import require_box, target_of
from allstop.app.agents.outside_logins import (
    ADDRESSES,
    LoginAddresses,
    find_outside_login,
    own_answers,
    tokens_of,
)
from allstop.app.agents.prices import token_price
from allstop.core.moves import Failed
from allstop.metering.stored_logins import LoginKind
from allstop.metering.wire_formats import Provider
from allstop.ports import Agent as AgentPort
from allstop.ports import Launcher
from allstop.settings import networks
from allstop.settings.model import CHAT_DRIVERS, Agent, Network

if TYPE_CHECKING:
    from allstop.app.project import Project

_PRICED_AS = {
    Provider.OPENAI: "openai",
    Provider.ANTHROPIC: "anthropic",
    Provider.GEMINI: "google",
}
"""A provider's name in the price list."""


def allowed_hosts(project: Project) -> tuple[str, ...]:
    """Other hosts that agents may reach."""
    settings = project.settings
    return settings.sandbox.hosts if networks.of_agents(settings) is Network.ALLOW else ()


async def not_held(_run: str) -> Failed | None:
    return None


class Holds(NamedTuple):
    """The holds of an agent's account."""

    now: Callable[[str], Awaitable[Failed | None]] = not_held
    """The failure of a run's calls while another run holds the account."""
    meet: Callable[[str, Failed], Awaitable[None]] | None = None
    """Holds the account for every run, because one has met a limit with a known end."""


NO_HOLDS = Holds()


def through_gateway(
    project: Project,
    name: str,
    settings: Agent,
    agent: AgentPort,
    holds: Holds,
    addresses: Mapping[LoginKind, LoginAddresses] = ADDRESSES,
) -> AgentPort:
    """The agent with a gateway for each turn. Raises AgentSetupError if its key is missing.

    `addresses`: of the vendors, for an agent with a login.
    """
    from allstop.adapters.agents.api.http_client import trusted
    from allstop.app.gateway.agent import GatewayAgent

    target = target_of(project, name, settings, addresses)
    login, tls = find_outside_login(project, name, settings), trusted()
    kept = None
    if settings.record:
        from allstop.app.gateway.kept_calls import FOLDER, KeptCalls

        folder = project.folder / FOLDER
        kept = KeptCalls(folder, project.clock, lambda: project.secrets, target.key)
    return GatewayAgent(
        agent,
        target,
        tls,
        clock=project.clock,
        fallback_box=own_box(project, project.folder / "homes" / name),
        price_of=lambda model: token_price(
            project,
            _PRICED_AS[target.provider],
            model,
            free=login is not None or settings.flat_rate,
        ),
        held_now=holds.now,
        meet=holds.meet,
        kept=kept,
        hosts=allowed_hosts(project),
        without_network=partial(without_network, project),
        login=tokens_of(project, name, settings, tls, addresses) if login else None,
        own_answers=own_answers(login) if login else None,
    )


def with_allowed_hosts(
    project: Project, launcher: Launcher, name: str, settings: Agent, agent: AgentPort
) -> AgentPort:
    """The agent in boxes that reach the allowed hosts, if there are any."""
    if settings.driver in CHAT_DRIVERS or not allowed_hosts(project):
        return agent
    from allstop.app.gateway.hosts import HostsAgent, hosts_opener

    require_box(name, launcher.isolation)
    return HostsAgent(
        agent,
        hosts_opener(launcher, "sandbox"),
        fallback_box=own_box(project, project.folder / "homes" / name),
    )
