"""Chooses the agent for a turn: the first choice, or a fallback while the first is limited."""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.ids import AgentName


class Roster(Struct, frozen=True, gc=False, kw_only=True):
    """Agents in order of preference, and until when a limit holds each of them."""

    agents: tuple[AgentName, ...]
    held_until: dict[AgentName, datetime] = {}


def hold(roster: Roster, agent: AgentName, until: datetime) -> Roster:
    return replace(roster, held_until={**roster.held_until, agent: until})


def pick(roster: Roster, now: datetime) -> AgentName | datetime:
    """The first agent that is free, or the earliest time at which one will be."""
    for agent in roster.agents:
        until = roster.held_until.get(agent)
        if until is None or until <= now:
            return agent
    return min(roster.held_until[agent] for agent in roster.agents)
