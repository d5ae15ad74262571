"""At most so many alerts a minute; of the others only how many they were."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from allstop.views.alerts import Alert, Level

MOST = 10
SPAN = timedelta(minutes=1)


class Pace(Struct, frozen=True):
    sent: tuple[datetime, ...] = ()  # the latest, oldest first
    left_out: tuple[Alert, ...] = ()


def admit(pace: Pace, alert: Alert, now: datetime) -> tuple[Pace, bool]:
    """Whether it may be told now. A stop always may."""
    recent = tuple(at for at in pace.sent if now - SPAN < at <= now)
    if len(recent) < MOST or alert.level is Level.STOPPED:
        return Pace((*recent, now), pace.left_out), True
    return Pace(recent, (*pace.left_out, alert)), False


def due_s(pace: Pace, now: datetime) -> float:
    """How long until there is room again."""
    if len(pace.sent) < MOST:
        return 0.0
    return max(0.0, (pace.sent[-MOST] + SPAN - now).total_seconds())


def rest(pace: Pace, now: datetime) -> tuple[Pace, Alert | None]:
    """One alert for all that were left out; nothing is told of them any more."""
    if not pace.left_out:
        return pace, None
    last = pace.left_out[-1]
    if len(pace.left_out) == 1:
        return Pace((*pace.sent, now)), last
    levels = [alert.level for alert in pace.left_out]
    told = Alert(
        level=max(levels, key=_WEIGHT.index),
        title=f"… and {len(levels)} more",
        text=f"The latest: {last.title}. See: allstop status",
        run=last.run,
        at=now,
    )
    return Pace((*pace.sent, now)), told


_WEIGHT = (Level.INFO, Level.DONE, Level.STOPPED, Level.ERROR, Level.NEEDS_YOU)
