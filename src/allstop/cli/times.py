"""Times as people type them: 2h, 90m, 07:00, 2030-05-31."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import click

_DAYS = re.compile(r"(\d+)d")
_SPAN = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")

LONGEST = timedelta(days=3650)


def until(now: datetime, for_: str | None, at: str | None) -> datetime | None:
    """The end that two options give: the earlier one."""
    ends = []
    if for_ is not None:
        ends.append(now + min(span(for_), LONGEST))
    if at is not None:
        ends.append(next_time(now, at))
    return min(ends, default=None)


def span(text: str) -> timedelta:
    found = _SPAN.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        raise click.BadParameter(f"{text!r} is no span of time, like 2h or 90m", param_hint="--for")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    try:
        return timedelta(hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        return timedelta.max


def since(now: datetime, text: str) -> datetime:
    """A moment in the past: so long ago, or the beginning of a day."""
    text = text.strip()
    try:
        if days := _DAYS.fullmatch(text):
            return now - timedelta(days=int(days[1]))
        if _SPAN.fullmatch(text) and text:
            return now - span(text)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        wanted = "like 7d, 12h or 2030-05-31"
        raise click.BadParameter(f"{text!r} is no time, {wanted}", param_hint="--since") from None
    return moment.astimezone()


def next_time(now: datetime, text: str) -> datetime:
    """The next moment at which a clock on this wall shows that time."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no time of day, like 07:00", param_hint="--until")
    local = now.astimezone()
    at = local.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
    return at if at > local else at + timedelta(days=1)
