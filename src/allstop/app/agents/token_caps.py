"""How exactly an agent's token budgets hold, said before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.ports import TokenCap
from allstop.settings.model import CHAT_DRIVERS, Agent, Driver

if TYPE_CHECKING:
    from allstop.app.project import Project

LEAST_EXACT_FIRST = (TokenCap.NONE, TokenCap.AFTER, TokenCap.EXACT)

CODERS = frozenset({Driver.CODEX, Driver.CLAUDE_CODE})

SILENT = frozenset({Driver.COMMAND})
"""Nobody learns what these use: limits on turns and time hold, those on tokens and cost don't."""


def token_cap(driver: Driver) -> TokenCap:
    """What its drivers say of themselves; told without loading an SDK."""
    if driver in CHAT_DRIVERS:
        return TokenCap.EXACT
    return TokenCap.AFTER if driver in CODERS else TokenCap.NONE


UNTOLD = "never bind: it doesn't say what it uses"


def token_budgets(agent: Agent) -> str:
    return UNTOLD if agent.driver in SILENT else _words(_cap_of(agent))


def budgets_hold(project: Project) -> str:
    """Of all agents that are configured, the least exact says it."""
    agents = project.settings.agents
    if silent := [name for name, agent in agents.items() if agent.driver in SILENT]:
        return f"never bind for {', '.join(silent)}: a program doesn't say what it uses"
    caps = {_cap_of(agent) for agent in agents.values()}
    return _words(next((cap for cap in LEAST_EXACT_FIRST if cap in caps), TokenCap.EXACT))


def _cap_of(agent: Agent) -> TokenCap:
    return token_cap(agent.driver) if agent.max_tokens_per_call else TokenCap.NONE


def _words(cap: TokenCap) -> str:
    match cap:
        case TokenCap.EXACT:
            return "hold exactly"
        case TokenCap.AFTER:
            return "may be passed by one call of the model for each turn under way"
        case TokenCap.NONE:
            return "may be passed by the turns under way"
