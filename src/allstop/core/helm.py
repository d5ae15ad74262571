"""The helm: what has been said to all runs at once, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.brakes import Limits
from allstop.core.commands import Allstop, Command, Freeze, Pause, Raise, Resume, Thaw
from allstop.core.events import Commanded, Event


class Hold(StrEnum):
    """What keeps a run, or all of them, from going on."""

    NONE = "running"
    PAUSED = "paused"
    FROZEN = "frozen"
    STOPPED = "stopped"


RUNNING, FROZEN, STOPPED = Hold.NONE, Hold.FROZEN, Hold.STOPPED
"""By names of their own: to look a member up in its enum costs a turn as much as a call."""


class Grant(Struct, frozen=True, gc=False, kw_only=True):
    """What a person allows all runs together on the day of `at`."""

    limits: Limits
    at: datetime


class Helm(Struct, frozen=True, gc=False, kw_only=True):
    hold: Hold = Hold.NONE
    stops: int = 0  # the epoch: what began before a stop is not accepted after it
    since: datetime | None = None
    asked_at: datetime | None = None  # the latest Allstop
    by: str = ""
    grant: Grant | None = None
    pauses: bool = False  # beneath the freeze: what a thaw leaves


def held(hold: Hold, command: Command, *, pauses: bool = False) -> Hold:
    """The hold after a command. Only Resume leaves an Allstop; a thaw leaves a pause."""
    match command:
        case Allstop():
            return Hold.STOPPED
        case Resume():
            return Hold.NONE
        case Freeze() if hold is not Hold.STOPPED:
            return Hold.FROZEN
        case Thaw() if hold is Hold.FROZEN:
            return Hold.PAUSED if pauses else Hold.NONE
        case Pause() if hold is Hold.NONE:
            return Hold.PAUSED
        case _:
            return hold


def pauses_beneath(hold: Hold, command: Command, *, pauses: bool) -> bool:
    """Whether a pause lies beneath the freeze after a command, said before it or during it."""
    if held(hold, command) is not Hold.FROZEN:
        return False
    return pauses or hold is Hold.PAUSED or isinstance(command, Pause)


def steer(helm: Helm, event: Event) -> Helm:
    if not isinstance(event, Commanded):
        return helm
    if isinstance(event.command, Raise):
        return replace(helm, grant=Grant(limits=event.command.limits, at=event.at))
    hold = held(helm.hold, event.command, pauses=helm.pauses)
    if isinstance(event.command, Allstop):
        since = helm.since if helm.hold is Hold.STOPPED else event.at
        return Helm(
            hold=hold,
            stops=helm.stops + 1,
            since=since,
            asked_at=event.at,
            by=event.by,
            grant=helm.grant,
        )
    pauses = pauses_beneath(helm.hold, event.command, pauses=helm.pauses)
    if hold is helm.hold:
        return helm if pauses is helm.pauses else replace(helm, pauses=pauses)
    since = None if hold is Hold.NONE else event.at
    return replace(helm, hold=hold, pauses=pauses, since=since, by=event.by)


def fold(events: Iterable[Event]) -> Helm:
    helm = Helm()
    for event in events:
        helm = steer(helm, event)
    return helm
