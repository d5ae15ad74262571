"""When a limit ends, where Claude Code says it only in words: resets 12:50am, |1754020800."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from allstop.adapters.agents.resets import MOST

_LIMIT = re.compile(
    r"hit your (?:[\w-]+ )*limit|limit reached|usage limit|out of (?:extra )?usage"
    r"|reached your (?:[\w-]+ )*limit",
    re.IGNORECASE,
)
_SECONDS = re.compile(r"\|(\d{10})(?:\d{3})?\b")
_CLOCK = re.compile(
    r"resets?\s+(?:at\s+|on\s+)?"
    r"(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+(?:at\s+)?)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\s+(?P<day>\d{1,2})"
    r"(?:,|\s+at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm)?"
    r"(?:\s*\((?P<zone>[\w/+-]+)\))?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def is_used_up(words: str) -> bool:
    return bool(_LIMIT.search(words))


def reset(words: str, now: datetime, local: tzinfo) -> datetime | None:
    """The instant that is meant; `local` is the zone of a time without one."""
    if seconds := _SECONDS.search(words):
        return _sane(datetime.fromtimestamp(int(seconds[1]), UTC), now)
    if (clock := _CLOCK.search(words)) is None or not (clock["half"] or clock["minute"]):
        return None
    try:
        return _sane(_next(clock, now.astimezone(_zone(clock["zone"], local))), now)
    except ValueError:
        return None


def _next(clock: re.Match[str], now: datetime) -> datetime:
    """The first such time after now. The zone's own rules hold on the day that is meant."""
    hour = int(clock["hour"])
    if half := clock["half"]:
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    at = now.replace(hour=hour, minute=int(clock["minute"] or 0), second=0, microsecond=0)
    if clock["month"]:
        at = at.replace(month=_MONTHS.index(clock["month"].lower()) + 1, day=int(clock["day"]))
        return at if at > now else at.replace(year=at.year + 1)
    if clock["weekday"]:
        at += timedelta((_WEEKDAYS.index(clock["weekday"].lower()) - at.weekday()) % 7)
        return at if at > now else at + timedelta(7)
    return at if at > now else at + timedelta(1)


def _zone(name: str | None, local: tzinfo) -> tzinfo:
    try:
        return ZoneInfo(name) if name else local
    except (KeyError, ValueError, OSError):  # none of this machine's
        return local


def _sane(at: datetime, now: datetime) -> datetime | None:
    at = at.astimezone(UTC)
    return at if now <= at <= now + MOST else None
