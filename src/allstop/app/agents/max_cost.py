"""The most that a given number of tokens can cost, by agent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from allstop.app.agents.api_models import PROVIDERS
from allstop.app.agents.logins import has_login
from allstop.app.agents.prices import PRICED_AS, token_price
from allstop.core.ids import AgentName

if TYPE_CHECKING:
    from allstop.app.project import Project


def most_microusd(project: Project) -> Callable[[AgentName, int], int]:
    """A function from an agent and its tokens to their maximum cost; 0 if prices are unknown."""
    rates: dict[AgentName, float] = {}

    def most(agent: AgentName, tokens: int) -> int:
        if agent not in rates:
            rates[agent] = _highest_price(project, agent)
        return math.ceil(rates[agent] * tokens)

    return most


def _highest_price(project: Project, name: AgentName) -> float:
    agent = project.settings.agents.get(name)
    if agent is None or agent.driver not in PRICED_AS:
        return 0.0
    standard = PROVIDERS.get(agent.driver)
    model = agent.model or (standard.model if standard else "")
    free = agent.flat_rate or (standard is None and has_login(project, name, agent))
    return token_price(project, PRICED_AS[agent.driver], model, free=free).highest_price(
        project.clock.now()
    )
