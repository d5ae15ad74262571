"""Quiet hours: alerts that can wait are deferred until they end."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from allstop.views.alerts import Alert, Level

URGENT = frozenset({Level.NEEDS_YOU, Level.STOPPED})
"""Levels that are sent at any hour: work waits for a person, or was stopped."""


class QuietHours(NamedTuple):
    """From one time of day to another, possibly past midnight."""

    begins: time
    ends: time
    zone: tzinfo | None  # None means the machine's own


def parse(text: str, zone: tzinfo | None) -> QuietHours:
    """Parse hours such as `22:00-07:00`; the settings have checked the form."""
    begins, _, ends = text.partition("-")
    return QuietHours(_time(begins), _time(ends), zone)


def _time(text: str) -> time:
    hours, _, minutes = text.strip().partition(":")
    return time(int(hours), int(minutes))


def remaining_s(quiet: QuietHours, now: datetime) -> float:
    """Return the seconds until the quiet hours end; 0 outside of them."""
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


def is_deferred(quiet: QuietHours | None, alert: Alert, now: datetime) -> bool:
    """Whether an alert is sent only after the quiet hours."""
    return quiet is not None and alert.level not in URGENT and remaining_s(quiet, now) > 0


def summarize(kept: Sequence[Alert], now: datetime) -> Alert:
    """Combine deferred alerts into one."""
    if len(kept) == 1:
        return kept[0]
    counts = {level: sum(each.level is level for each in kept) for level in Level}
    return Alert(
        level=Level.ERROR if counts[Level.ERROR] else kept[-1].level,
        title=f"During quiet hours: {', '.join(f'{n} {level}' for level, n in counts.items() if n)}",
        text=f"The latest: {kept[-1].title}. See: allstop status",
        run=kept[-1].run,
        at=now,
    )
