"""The helm: pauses, freezes and stops of all runs at once, and the raised daily budget."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.brakes import Limits
from allstop.core.commands import Allstop, Command, Freeze, Pause, Raise, Resume, Thaw
from allstop.core.events import Commanded, Event


class Hold(StrEnum):
    """Whether a run, or all runs, are running, paused, frozen or stopped."""

    NONE = "running"
    PAUSED = "paused"
    FROZEN = "frozen"
    STOPPED = "stopped"


RUNNING, FROZEN, STOPPED = Hold.NONE, Hold.FROZEN, Hold.STOPPED
"""Module-level names, because looking up an enum member is slow on the hot path."""


class Grant(Struct, frozen=True, gc=False, kw_only=True):
    """Limits that a person has set for all runs together on the day of `at`."""

    limits: Limits
    at: datetime


class Helm(Struct, frozen=True, gc=False, kw_only=True):
    hold: Hold = Hold.NONE
    stops: int = 0  # a result is not accepted after a later stop than its move began with
    since: datetime | None = None
    asked_at: datetime | None = None  # the latest Allstop
    by: str = ""
    grant: Grant | None = None
    pauses: bool = False  # a pause lies beneath the freeze; a thaw leaves it


def hold_after(hold: Hold, command: Command, *, pauses: bool = False) -> Hold:
    """The hold after a command. Only Resume ends an Allstop; a thaw restores an earlier pause."""
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


def is_paused_beneath(hold: Hold, command: Command, *, pauses: bool) -> bool:
    """Whether a pause, commanded before or during the freeze, lies beneath it after a command."""
    if hold_after(hold, command) is not Hold.FROZEN:
        return False
    return pauses or hold is Hold.PAUSED or isinstance(command, Pause)


def steer(helm: Helm, event: Event) -> Helm:
    if not isinstance(event, Commanded):
        return helm
    if isinstance(event.command, Raise):
        return replace(helm, grant=Grant(limits=event.command.limits, at=event.at))
    hold = hold_after(helm.hold, event.command, pauses=helm.pauses)
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
    pauses = is_paused_beneath(helm.hold, event.command, pauses=helm.pauses)
    if hold is helm.hold:
        return helm if pauses is helm.pauses else replace(helm, pauses=pauses)
    since = None if hold is Hold.NONE else event.at
    return replace(helm, hold=hold, pauses=pauses, since=since, by=event.by)


def fold(events: Iterable[Event]) -> Helm:
    helm = Helm()
    for event in events:
        helm = steer(helm, event)
    return helm
