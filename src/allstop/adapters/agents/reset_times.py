"""Parses when a limit ends from an agent's text: "resets 12:50am", "try again at 7:43 PM"."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from msgspec import Struct

from allstop.adapters.agents.api.reset_headers import MAX_DELAY

MINUTE = timedelta(minutes=1)
LATE = timedelta(minutes=15)
"""A time that is past by less than this means today, not tomorrow."""

_LIMIT = re.compile(
    r"hit your (?:[\w-]+ )*limit|limit reached|usage limit|out of (?:extra )?usage"
    r"|reached your (?:[\w-]+ )*limit",
    re.IGNORECASE,
)
_SECONDS = re.compile(r"\|(\d{10})(?:\d{3})?\b")
_RESETS = re.compile(
    r"resets?\s+(?:at\s+|on\s+)?"
    r"(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+(?:at\s+)?)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\s+(?P<day>\d{1,2})"
    r"(?:,|\s+at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm)?"
    r"(?:\s*\((?P<zone>[\w/+-]+)\))?",
    re.IGNORECASE,
)
_AGAIN_IN = re.compile(
    r"try again in ((?:\d{1,6} (?:day|hour|minute|second)s?[ ,]*(?:and )?)+)", re.IGNORECASE
)
_AGAIN_AT = re.compile(
    r"try again at (?:(\w{3})\w* (\d{1,2})(?:st|nd|rd|th)?,? (\d{4}),? )?(\d{1,2}):(\d\d) ?([AP]M)",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class LocalTime(Struct, frozen=True, kw_only=True):
    """The present instant, and the zone of times without one."""

    now: datetime
    local: tzinfo = UTC


def says_limit_reached(text: str) -> bool:
    return bool(_LIMIT.search(text))


def claude_reset(text: str, at: LocalTime) -> datetime | None:
    """When the limit of Claude Code ends; a time without a zone is local."""
    if seconds := _SECONDS.search(text):
        return _sane(datetime.fromtimestamp(int(seconds[1]), UTC), at.now)
    if (clock := _RESETS.search(text)) is None or not (clock["half"] or clock["minute"]):
        return None
    try:
        return _sane(_next(clock, at.now.astimezone(_zone(clock["zone"], at.local))), at.now)
    except ValueError:
        return None


def codex_retry(text: str, now: datetime) -> datetime | None:
    """When the limit of Codex ends; it prints the time in its own zone, which is set to UTC."""
    if found := _AGAIN_IN.search(text):
        parts = re.findall(r"(\d+) (day|hour|minute|second)", found[1], re.IGNORECASE)
        spans = {f"{unit.lower()}s": float(number) for number, unit in parts}
        return _sane(now + timedelta(**spans), now)
    if found := _AGAIN_AT.search(text):
        try:
            return _sane(_minute(found, now), now)
        except ValueError:
            return None
    return None


def _next(clock: re.Match[str], now: datetime) -> datetime:
    """The first such time after now, by the zone's rules for that day."""
    hour = _hour(clock["hour"], clock["half"])
    at = now.replace(hour=hour, minute=int(clock["minute"] or 0), second=0, microsecond=0)
    if clock["month"]:
        at = at.replace(month=_MONTHS.index(clock["month"].lower()) + 1, day=int(clock["day"]))
        return at if at > now else at.replace(year=at.year + 1)
    if clock["weekday"]:
        at += timedelta((_WEEKDAYS.index(clock["weekday"].lower()) - at.weekday()) % 7)
        return at if at > now else at + timedelta(7)
    return at if at > now else at + timedelta(1)


def _minute(found: re.Match[str], now: datetime) -> datetime:
    """The end of the named minute, on the next day if it is long past."""
    month, day, year, hour, minute, half = found.groups()
    at = now.replace(hour=_hour(hour, half), minute=int(minute), second=0, microsecond=0) + MINUTE
    if month is not None:
        number = _MONTHS.index(month.lower()) + 1
        return at.replace(year=int(year), month=number, day=int(day))
    return at + timedelta(1) if at < now - LATE else max(at, now)


def _hour(hour: str, half: str | None) -> int:
    return int(hour) % 12 + (12 if half.lower() == "pm" else 0) if half else int(hour)


def _zone(name: str | None, local: tzinfo) -> tzinfo:
    try:
        return ZoneInfo(name) if name else local
    except (KeyError, ValueError, OSError):  # this machine doesn't know the zone
        return local


def _sane(at: datetime, now: datetime) -> datetime | None:
    at = at.astimezone(UTC)
    return at if now <= at <= now + MAX_DELAY else None
