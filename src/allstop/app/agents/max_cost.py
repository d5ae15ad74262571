"""What so many tokens of the configured agents may cost at most."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from allstop.app.agents.api_models import PROVIDERS
from allstop.app.agents.logins import has_login
from allstop.app.agents.prices import PRICED_AS, tariff
from allstop.core.ids import AgentName

if TYPE_CHECKING:
    from allstop.app.project import Project


def most_microusd(project: Project) -> Callable[[AgentName, int], int]:
    """The most that so many tokens of an agent cost; nothing where nobody knows its prices."""
    rates: dict[AgentName, float] = {}

    def most(agent: AgentName, tokens: int) -> int:
        if agent not in rates:
            rates[agent] = _dearest(project, agent)
        return math.ceil(rates[agent] * tokens)

    return most


def _dearest(project: Project, name: AgentName) -> float:
    agent = project.settings.agents.get(name)
    if agent is None or agent.driver not in PRICED_AS:
        return 0.0
    standard = PROVIDERS.get(agent.driver)
    model = agent.model or (standard.model if standard else "")
    free = agent.flat_rate or (standard is None and has_login(project, name, agent))
    return tariff(project, agent.driver, model, free=free).highest_price(project.clock.now())
