"""Agents of a session that can't be called for a while: until when, and who speaks instead."""

from datetime import datetime
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.accounts import is_waited_for
from allstop.core.ids import AgentName
from allstop.core.moves import Failed
from allstop.core.retries import NO_STREAK, LimitStreak, has_retry_time, retry_time
from allstop.core.room_specs import AUTOPILOT, SessionSpec

LONG_WAITS = 8
"""Retries after the quick ones, each after a longer wait, before the session waits for a person."""


class Outage(Struct, frozen=True, gc=False, kw_only=True):
    """Why an agent, or all agents of its account, are not called before a time."""

    until: datetime
    text: str
    is_told: bool = False  # the provider named the time; no call is made before it
    failures: int = 0  # in a row
    streak: LimitStreak = NO_STREAK
    is_replaced: bool = False  # the limit is long: other agents speak meanwhile


Outages = dict[str, Outage]
"""By the agent's name, or by the account for a limit of the provider."""


class Delay(NamedTuple):
    """The outages after a failed turn, and the agent that speaks meanwhile."""

    outages: Outages
    instead: AgentName | None = None
    gave_up: str = ""  # why the session waits for a person


def account(spec: SessionSpec, agent: AgentName) -> str:
    seat = spec.seat(agent)
    return f"account {seat.account}" if seat is not None and seat.account else agent


def outage_of(spec: SessionSpec, outages: Outages, agent: AgentName) -> Outage | None:
    """The outage that ends last, of the agent or of its account."""
    found = [outages[key] for key in {agent, account(spec, agent)} if key in outages]
    return max(found, key=lambda outage: outage.until, default=None)


def is_out(spec: SessionSpec, outages: Outages, agent: AgentName, at: datetime) -> bool:
    outage = outage_of(spec, outages, agent)
    return outage is not None and outage.until > at


def after_success(spec: SessionSpec, outages: Outages, agent: AgentName) -> Outages:
    answered = {agent, account(spec, agent)}
    return {key: outage for key, outage in outages.items() if key not in answered}


def after_limit(
    spec: SessionSpec, outages: Outages, agent: AgentName, failed: Failed, reason: str, at: datetime
) -> Delay:
    """The provider limits the account: nobody calls it before the end of the limit."""
    key = account(spec, agent)
    before = outages[key].streak if key in outages else NO_STREAK
    patience = spec.endurance
    over = patience.give_up_reason(failed, at, before) if patience else ""
    if patience and patience.edition >= 2 and stand_in(spec, outages, agent, at):
        over = ""
    if over:
        return Delay(outages, gave_up=f"{agent}: {reason}; {over}")
    streak = before.extended(failed, at)
    until = retry_time(failed.retry_at, at, streak.times, spec.id)
    outage = Outage(
        until=until,
        text=f"{agent}: {reason}",
        is_told=has_retry_time(failed, at),
        streak=streak,
    )
    is_awaited = (
        patience is None
        or patience.edition < 2
        or is_waited_for(failed, at, streak.times, patience)
    )
    if is_awaited:
        return Delay({**outages, key: outage})
    after = {**outages, key: replace(outage, is_replaced=True)}
    return Delay(after, stand_in(spec, after, agent, at) or _soonest(spec, after, agent))


def _soonest(spec: SessionSpec, outages: Outages, agent: AgentName) -> AgentName | None:
    """The agent that can speak before this one, if all are out."""
    if spec.mode is not AUTOPILOT:
        return None
    ends = {
        each: outage.until for each in spec.agents if (outage := outage_of(spec, outages, each))
    }
    first = min(spec.agents, key=lambda each: (ends[each], each != agent))
    return None if first == agent else first


def after_failure(
    spec: SessionSpec, outages: Outages, agent: AgentName, reason: str, at: datetime
) -> Delay:
    """Wait longer after each failure in a row; in Autopilot another agent speaks meanwhile."""
    failures = 1 + (outages[agent].failures if agent in outages else 0)
    until = at + spec.backoff.delay(failures, spec.id)
    instead = None
    if failures > spec.backoff.retries:
        instead = stand_in(spec, outages, agent, at)
    if instead is None and failures > spec.backoff.retries + LONG_WAITS:
        return Delay(outages, gave_up=f"{agent}: {reason}; {failures} failures in a row")
    outage = Outage(until=until, text=f"{agent}: {reason}", failures=failures)
    return Delay({**outages, agent: outage}, instead)


def stand_in(
    spec: SessionSpec, outages: Outages, agent: AgentName, at: datetime
) -> AgentName | None:
    """The next agent in the order of the room that can speak in Autopilot in place of this one."""
    if spec.mode is not AUTOPILOT:
        return None
    index = spec.agents.index(agent)
    others = (*spec.agents[index + 1 :], *spec.agents[:index])
    return next((other for other in others if not is_out(spec, outages, other, at)), None)


def has_failed(spec: SessionSpec, outages: Outages, agent: AgentName, at: datetime) -> bool:
    """Whether the agent is out after its quick retries, or because of a long limit."""
    found = [outages[key] for key in {agent, account(spec, agent)} if key in outages]
    return any(
        outage.until > at and (outage.is_replaced or outage.failures > spec.backoff.retries)
        for outage in found
    )


def tried_now(spec: SessionSpec, outages: Outages, agent: AgentName) -> Outages:
    """A person wants the agent to be called; only a time that its provider named still holds."""
    own = {agent, account(spec, agent)}
    return {key: outage for key, outage in outages.items() if key not in own or outage.is_told}


def with_retry_time(text: str, until: datetime) -> str:
    """The text with a time in UTC, which the page and the terminal show as local time."""
    return f"{text}; next attempt at {until:%H:%M:%S} UTC"
