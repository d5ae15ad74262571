"""Parses when a provider's rate limit ends, from response headers or the error message."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

MAX_DELAY = timedelta(days=31)
"""A reset further away is taken as the provider's mistake."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LIMITS = re.compile(r"^(?:x|anthropic)-ratelimit-(?:reset-(.+)|(.+)-reset)$")


_IN_MESSAGE = re.compile(
    r"(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+)"
    r"|regain access on (\d{4}-\d\d-\d\d) at (\d\d:\d\d) UTC",
    re.IGNORECASE,
)


def retry_at(headers: Mapping[str, str], message: str, now: datetime) -> datetime | None:
    """From the retry headers, else the resets of used-up limits, else the message."""
    headers = {name.lower(): value.strip() for name, value in headers.items()}
    for name, read in (("retry-after-ms", _milliseconds), ("retry-after", _after)):
        if name in headers and (at := _plausible(read, headers[name], now)) is not None:
            return at
    resets = {
        name: at
        for name, value in headers.items()
        if _LIMITS.match(name) and (at := _plausible(_reset, value, now)) is not None
    }
    used_up = [at for name, at in resets.items() if headers.get(_remaining(name)) == "0"]
    return max(used_up or resets.values(), default=_from_message(message, now))


def _from_message(message: str, now: datetime) -> datetime | None:
    if (found := _IN_MESSAGE.search(message)) is None:
        return None
    span, day, time = found.groups()
    return _plausible(_reset, span or f"{day}T{time}:00+00:00", now)


def _remaining(name: str) -> str:
    """The name of the header that says how much of the limit is left."""
    return name.replace("reset", "remaining")


def _plausible(
    read: Callable[[str, datetime], datetime | None], value: str, now: datetime
) -> datetime | None:
    try:
        at = read(value, now)
    except (ValueError, OverflowError, OSError, TypeError):
        return None
    return at if at is not None and now <= at <= now + MAX_DELAY else None


def _milliseconds(value: str, now: datetime) -> datetime:
    return now + timedelta(milliseconds=float(value))


def _after(value: str, now: datetime) -> datetime:
    if re.fullmatch(r"\d+(?:\.\d+)?", value):
        return now + timedelta(seconds=float(value))
    at = parsedate_to_datetime(value)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _reset(value: str, now: datetime) -> datetime | None:
    """A duration such as 6m0s, an ISO time, or Unix seconds."""
    if spans := _DURATION.findall(value):
        if "".join(number + unit for number, unit in spans) == value:
            seconds = sum(float(number) * _SECONDS[unit] for number, unit in spans)
            return now + timedelta(seconds=seconds)
        return None
    if re.fullmatch(r"\d+(?:\.\d+)?", value):
        number = float(value)
        return datetime.fromtimestamp(number, UTC) if number > 1e9 else now + timedelta(0, number)
    at = datetime.fromisoformat(value)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
