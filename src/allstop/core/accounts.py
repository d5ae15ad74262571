"""Agents at the limits of their accounts: which agent works, and what follows after a limit."""

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.ids import AgentName
from allstop.core.moves import Failed, FailureKind
from allstop.core.retries import LimitPatience, LimitStreak, retry_time

LONG_WAIT = timedelta(seconds=60)
"""After a limit with a longer announced wait, the fallback works at once."""

UNPAID = timedelta(days=365)
"""How long a run does without an account that has no credit: until a person has acted."""

RECOVERED = "recovered"
"""The reason of a switch back to an agent that is no longer held."""

KEPT = 20
"""Number of remembered switches; the journal has all turns."""


class AccountHold(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Until when no run calls an account, and why."""

    until: datetime
    kind: FailureKind
    reason: str = ""
    announced: bool = True  # the provider gave the time
    times: int = 1  # holds in a row for which it gave none
    run: str = ""  # the run that met the limit; without a given time, it may try earlier
    elsewhere: bool = False  # a run of another repository met it


class Window(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A provider's limit within a span of time, such as five hours or a week."""

    name: str
    used: float | None = None  # the share, from 0 to 1; None if unknown
    resets_at: datetime | None = None
    span_s: float | None = None  # its length; None if unknown


class Switch(Struct, frozen=True, gc=False, kw_only=True):
    """Another agent took over. The reason is the failure that holds the first one, or RECOVERED."""

    before: AgentName
    after: AgentName
    reason: str
    at: datetime


class Roster(Struct, frozen=True, gc=False, kw_only=True):
    """Agents in order of preference, and until when a limit holds each of them."""

    agents: tuple[AgentName, ...]
    held_until: dict[AgentName, datetime] = {}
    held_by: dict[AgentName, FailureKind] = {}
    tries: dict[AgentName, int] = {}  # limited turns in a row
    awaited: AgentName | None = None  # its limit is short: no fallback works meanwhile
    switches: tuple[Switch, ...] = ()


class AfterLimit(NamedTuple):
    roster: Roster
    gave_up: str = ""  # why the run waits for none of its agents any longer


def hold(
    roster: Roster, agent: AgentName, until: datetime, kind: FailureKind | None = None
) -> Roster:
    held_by = roster.held_by if kind is None else {**roster.held_by, agent: kind}
    return replace(roster, held_until={**roster.held_until, agent: until}, held_by=held_by)


def release_all(roster: Roster) -> Roster:
    """A person wants the agents to be called at once."""
    return replace(roster, held_until={}, held_by={}, tries={}, awaited=None)


def pick(roster: Roster, now: datetime, stays: AgentName | None = None) -> AgentName | datetime:
    """The first agent that is free, or the earliest time at which one will be.

    An agent that stays is asked before the others.
    """
    agents = roster.agents
    if roster.awaited is not None:
        agents = (roster.awaited,)
    elif stays in agents:
        agents = (stays, *(agent for agent in agents if agent != stays))
    for agent in agents:
        until = roster.held_until.get(agent)
        if until is None or until <= now:
            return agent
    return min(roster.held_until[agent] for agent in agents)


def is_waited_for(failed: Failed, at: datetime, tries: int, patience: LimitPatience) -> bool:
    """Whether the same agent is tried again after its limited turn number `tries`.

    It is not after a long announced wait, or after `patience.guesses` retries.
    """
    is_long = failed.retry_at is not None and failed.retry_at - at > LONG_WAIT
    return tries <= patience.guesses and not is_long


def after_limit(
    roster: Roster,
    agent: AgentName,
    affected: tuple[AgentName, ...],
    failed: Failed,
    at: datetime,
    before: LimitStreak,
    patience: LimitPatience,
    seed: str,
) -> AfterLimit:
    """Hold the affected agents. A short limit is waited for; else another agent takes over."""
    tries = roster.tries.get(agent, 0) + 1
    until = retry_time(failed.retry_at, at, tries, seed)
    is_awaited = is_waited_for(failed, at, tries, patience)
    after = replace(
        roster, tries={**roster.tries, agent: tries}, awaited=agent if is_awaited else None
    )
    for each in affected:
        after = hold(after, each, until, failed.kind)
    if is_awaited or not isinstance(pick(after, at), datetime):
        return AfterLimit(after)
    return AfterLimit(after, patience.give_up_reason(failed, at, before))


def after_billing(
    roster: Roster, affected: tuple[AgentName, ...], failed: Failed, at: datetime
) -> Roster:
    """Leave the account to a person. Nothing is retried; agents of other accounts continue."""
    after = replace(roster, awaited=None)
    for agent in affected:
        after = hold(after, agent, failed.retry_at or at + UNPAID, failed.kind)
    return after


def turn_started(roster: Roster, before: AgentName, agent: AgentName, at: datetime) -> Roster:
    """Note a switch to another agent."""
    if not before or before == agent:
        return roster
    until = roster.held_until.get(before)
    is_held = until is not None and until > at
    kind = roster.held_by.get(before, FailureKind.RATE_LIMITED)
    reason = kind.value if is_held else RECOVERED
    switch = Switch(before=before, after=agent, reason=reason, at=at)
    return replace(roster, switches=(*roster.switches[1 - KEPT :], switch))


def turn_done(roster: Roster, agent: AgentName) -> Roster:
    """The agent answered, so its limit is over."""
    if agent not in roster.tries and roster.awaited is None:
        return roster
    tries = {name: times for name, times in roster.tries.items() if name != agent}
    return replace(roster, tries=tries, awaited=None)
