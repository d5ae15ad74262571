"""How exactly an agent's token budgets hold, said before anything is spent."""

from __future__ import annotations

from allstop.ports import TokenCap
from allstop.settings.model import TALKERS, Agent, Driver

CODERS = frozenset({Driver.CODEX, Driver.CLAUDE_CODE})


def token_cap(driver: Driver) -> TokenCap:
    """What its drivers say of themselves; told without loading an SDK."""
    if driver in TALKERS:
        return TokenCap.EXACT
    return TokenCap.AFTER if driver in CODERS else TokenCap.NONE


def token_budgets(agent: Agent) -> str:
    cap = token_cap(agent.driver) if agent.max_tokens_per_call else TokenCap.NONE
    match cap:
        case TokenCap.EXACT:
            return "hold exactly"
        case TokenCap.AFTER:
            return "may be passed by one call of the model for each turn under way"
        case TokenCap.NONE:
            return "may be passed by the turns under way"
