"""Token caps of agents: how exactly their token and cost budgets hold, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.agents.model_access import is_uncapped, uses_gateway
from allstop.ports import TokenCap
from allstop.settings.model import CHAT_DRIVERS, Agent, Driver

if TYPE_CHECKING:
    from allstop.app.project import Project

LEAST_EXACT_FIRST = (TokenCap.NONE, TokenCap.AFTER, TokenCap.EXACT)

CODERS = frozenset({Driver.CODEX, Driver.CLAUDE_CODE})

UNMETERED = frozenset({Driver.COMMAND})
"""Drivers that report no usage: only limits on turns and time apply to their agents."""

PARTLY_METERED = frozenset({Driver.ACP})
"""Drivers that report less than was used: budgets count only what is reported."""


def token_cap(driver: Driver) -> TokenCap:
    """The cap that the driver's agents declare, without loading the driver."""
    if driver in CHAT_DRIVERS:
        return TokenCap.EXACT
    return TokenCap.AFTER if driver in CODERS else TokenCap.NONE


NEVER_BINDS = "never bind: it doesn't say what it uses"
CANT_HOLD = "can't hold: it reports only a part of what it uses"


HOLD_TO_THE_CALL = "hold to the call: the gateway makes none that could pass them"
HOLD_WITHIN_A_CALL = "hold to within one call: with its login, replies can't be capped"


def describe_agent_budgets(
    agent: Agent, *, by_gateway: bool = False, is_uncapped: bool = False
) -> str:
    """`by_gateway`: its calls go through the gateway, which can't cap some."""
    if by_gateway:
        return HOLD_WITHIN_A_CALL if is_uncapped else HOLD_TO_THE_CALL
    if agent.driver in UNMETERED:
        return NEVER_BINDS
    if agent.driver in PARTLY_METERED:
        return CANT_HOLD
    if agent.driver in CODERS:
        return f"{_describe(TokenCap.AFTER)}; cost budgets are checked between turns"
    return _describe(token_cap(agent.driver))


def describe_budgets(project: Project) -> str:
    """How exactly budgets hold for the configured agent with the least exact cap."""
    agents = {
        name: agent
        for name, agent in project.settings.agents.items()
        if not uses_gateway(project, name, agent) or is_uncapped(project, name, agent)
    }
    if silent := [name for name, agent in agents.items() if agent.driver in UNMETERED]:
        return f"never bind for {', '.join(silent)}: a program doesn't say what it uses"
    if partly := [name for name, agent in agents.items() if agent.driver in PARTLY_METERED]:
        return f"can't hold for {', '.join(partly)}: it reports only a part of what it uses"
    caps = {token_cap(agent.driver) for agent in agents.values()}
    if len(agents) < len(project.settings.agents) and caps <= {TokenCap.EXACT}:
        return HOLD_TO_THE_CALL
    return _describe(next((cap for cap in LEAST_EXACT_FIRST if cap in caps), TokenCap.EXACT))


def _describe(cap: TokenCap) -> str:
    match cap:
        case TokenCap.EXACT:
            return "hold exactly"
        case TokenCap.AFTER:
            return "may be passed by one call of the model for each turn under way"
        case TokenCap.NONE:
            return "may be passed by the turns under way"
