"""Hours in which nobody is told anything that can wait."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from allstop.views.alerts import Alert, Level

URGENT = frozenset({Level.NEEDS_YOU, Level.STOPPED})
"""Work stands still until somebody comes, or was stopped: that is told at any hour."""


class Quiet(NamedTuple):
    """From one time of the day to another, which may be on the next day."""

    begins: time
    ends: time
    zone: tzinfo | None  # None is that of the machine


def read(text: str, zone: tzinfo | None) -> Quiet:
    """Of `22:00-07:00`; the settings see to it that it has this form."""
    begins, _, ends = text.partition("-")
    return Quiet(_time(begins), _time(ends), zone)


def _time(text: str) -> time:
    hours, _, minutes = text.strip().partition(":")
    return time(int(hours), int(minutes))


def left_s(quiet: Quiet, now: datetime) -> float:
    """How long it stays quiet; 0 when it is not."""
    local = now.astimezone(quiet.zone)
    at, goes_over_midnight = local.time(), quiet.ends <= quiet.begins
    if goes_over_midnight:
        is_quiet = at >= quiet.begins or at < quiet.ends
    else:
        is_quiet = quiet.begins <= at < quiet.ends
    if not is_quiet:
        return 0.0
    ends_tomorrow = goes_over_midnight and at >= quiet.begins
    day = local.date() + timedelta(days=1 if ends_tomorrow else 0)
    ends_at = datetime.combine(day, quiet.ends, quiet.zone).astimezone(UTC)
    return max(1.0, (ends_at - now).total_seconds())


def waits(quiet: Quiet | None, alert: Alert, now: datetime) -> bool:
    """Whether it is kept until the hours are over."""
    return quiet is not None and alert.level not in URGENT and left_s(quiet, now) > 0


def summed_up(kept: Sequence[Alert], now: datetime) -> Alert:
    """What was kept, in one."""
    if len(kept) == 1:
        return kept[0]
    counts = {level: sum(each.level is level for each in kept) for level in Level}
    return Alert(
        level=Level.ERROR if counts[Level.ERROR] else kept[-1].level,
        title=f"While it was quiet: {', '.join(f'{n} {level}' for level, n in counts.items() if n)}",
        text=f"The latest: {kept[-1].title}. See: allstop status",
        run=kept[-1].run,
        at=now,
    )
