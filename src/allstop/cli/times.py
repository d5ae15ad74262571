"""Times as people type them: 2h, 90m, 07:00, 2030-05-31."""

import re
from datetime import UTC, datetime, timedelta

import click

from allstop.board.local_time import next_time

_DAYS = re.compile(r"(\d+)d")
_SPAN = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")

LONGEST = timedelta(days=3650)

_UTC = re.compile(r"\b(\d\d):(\d\d):(\d\d) UTC\b")


def with_local_times(text: str, at: datetime) -> str:
    """The text with each time in UTC, of about the day `at`, as a local time."""

    def local(found: re.Match[str]) -> str:
        hour, minute, second = (int(part) for part in found.groups())
        if hour > 23 or minute > 59 or second > 59:
            return found[0]
        moment = at.astimezone(UTC).replace(hour=hour, minute=minute, second=second)
        return f"{moment.astimezone():%H:%M:%S}"

    return _UTC.sub(local, text)


def until(now: datetime, for_: str | None, at: str | None) -> datetime | None:
    """The earlier end of --for and --until; None without both."""
    ends = []
    if for_ is not None:
        ends.append(now + min(span(for_), LONGEST))
    if at is not None:
        ends.append(_moment(now, at))
    return min(ends, default=None)


def _moment(now: datetime, text: str) -> datetime:
    at = next_time(now, text)
    if at is None:
        raise click.BadParameter(
            f"{text!r} is not a time of day such as 07:00", param_hint="--until"
        )
    return at


def span(text: str) -> timedelta:
    found = _SPAN.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        raise click.BadParameter(
            f"{text!r} is not a duration such as 2h or 90m", param_hint="--for"
        )
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    try:
        return timedelta(hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        return timedelta.max


def since(now: datetime, text: str) -> datetime:
    """The time that --since names: a duration before now, or the start of a day."""
    text = text.strip()
    try:
        if days := _DAYS.fullmatch(text):
            return now - timedelta(days=int(days[1]))
        if _SPAN.fullmatch(text) and text:
            return now - span(text)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        message = f"{text!r} is not a time such as 7d, 12h or 2030-05-31"
        raise click.BadParameter(message, param_hint="--since") from None
    return moment.astimezone()


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h"
