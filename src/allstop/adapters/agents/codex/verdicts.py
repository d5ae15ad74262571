"""What the error of a turn means, by the type codex gives it, else by its words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace

from allstop.adapters.agents.codex.messages import RateLimits, TurnError
from allstop.adapters.agents.faults import Fault, told, verdict
from allstop.adapters.agents.resets import MOST
from allstop.core.moves import LIMITED, Failed, FailureKind

FULL_PERCENT = 100
BAD = 400
MINUTE = timedelta(minutes=1)
LATE = timedelta(minutes=15)
"""What is that little past was meant for today."""

_KINDS = {
    "contextWindowExceeded": FailureKind.CONTEXT,
    "sessionBudgetExceeded": FailureKind.OUT_OF_BUDGET,
    "usageLimitExceeded": FailureKind.USAGE_LIMITED,
    "rateLimitExceeded": FailureKind.RATE_LIMITED,
    "flexUnavailable": FailureKind.OVERLOADED,
    "serverOverloaded": FailureKind.OVERLOADED,
    "internalServerError": FailureKind.OVERLOADED,
    "unauthorized": FailureKind.AUTH,
    "badRequest": FailureKind.BAD_REQUEST,
    "cyberPolicy": FailureKind.BAD_REQUEST,
    "misalignmentPolicyViolation": FailureKind.BAD_REQUEST,
    "tooManyDenials": FailureKind.BAD_REQUEST,
    "sandboxError": FailureKind.BAD_REQUEST,
}
_STATUS = re.compile(r"(?:unexpected|last) status:? (\d{3})", re.IGNORECASE)
_CONTEXT = re.compile(r"context_length_exceeded|context window", re.IGNORECASE)
_SPAN = re.compile(
    r"try again in ((?:\d{1,6} (?:day|hour|minute|second)s?[ ,]*(?:and )?)+)", re.IGNORECASE
)
_AT = re.compile(
    r"try again at (?:(\w{3})\w* (\d{1,2})(?:st|nd|rd|th)?,? (\d{4}),? )?(\d{1,2}):(\d\d) ?([AP]M)",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def failed(error: TurnError | None, limits: RateLimits | None, now: datetime) -> Failed:
    if error is None:
        return Failed(kind=FailureKind.CRASHED, message="codex gave no reason")
    fault = _fault(error)
    judged = verdict(fault, now)
    if judged.kind not in LIMITED:
        return judged
    at = _used_up_until(limits, now) if judged.kind is FailureKind.USAGE_LIMITED else None
    return replace(judged, retry_at=at or judged.retry_at or in_words(fault.message, now))


def _fault(error: TurnError) -> Fault:
    name, status = _named(error.codex_error_info)
    words = " ".join(filter(None, (error.message, error.additional_details)))
    if (body := _body(words)) is not None:
        return told(status or BAD, {}, body)
    if not status and (found := _STATUS.search(words)):
        status = int(found[1])
    kind = _KINDS.get(name)
    if kind is None and _CONTEXT.search(words):
        kind = FailureKind.CONTEXT
    elif kind is None and words.startswith("Incomplete response"):
        kind = FailureKind.BAD_REQUEST  # the model stopped; to ask again gives the same
    return Fault(message=words, status=status, kind=kind)


def _body(words: str) -> object | None:
    """Of a bad request, codex says nothing but what the provider did."""
    if not words.startswith("{"):
        return None
    try:
        body: object = msgspec.json.decode(words)
    except msgspec.DecodeError:
        return None
    return body if isinstance(body, dict) and "error" in body else None


def _named(info: object) -> tuple[str, int]:
    """The name of the error, and the status where there is one."""
    if isinstance(info, dict) and len(info) == 1:
        ((name, details),) = info.items()
        status = details.get("httpStatusCode") if isinstance(details, dict) else None
        return str(name), status if isinstance(status, int) else 0
    return (info, 0) if isinstance(info, str) else ("", 0)


def _used_up_until(limits: RateLimits | None, now: datetime) -> datetime | None:
    """The latest reset among the windows of which nothing is left."""
    windows = (limits.primary, limits.secondary) if limits else ()
    resets = [
        window.resets_at or 0
        for window in windows
        if window and window.used_percent >= FULL_PERCENT
    ]
    earliest, latest = now.timestamp(), (now + MOST).timestamp()
    at = max((reset for reset in resets if earliest <= reset <= latest), default=None)
    return None if at is None else datetime.fromtimestamp(at, UTC)


def in_words(words: str, now: datetime) -> datetime | None:
    """Codex words the reset for people, in the time zone that it runs in: ours is UTC."""
    if found := _SPAN.search(words):
        parts = re.findall(r"(\d+) (day|hour|minute|second)", found[1], re.IGNORECASE)
        spans = {f"{unit.lower()}s": float(number) for number, unit in parts}
        at = now + timedelta(**spans)
    elif found := _AT.search(words):
        at = _clock(found, now)
    else:
        return None
    return at if now <= at <= now + MOST else None


def _clock(found: re.Match[str], now: datetime) -> datetime:
    """The end of the minute that is named; a day later where that has long been."""
    month, day, year, hour, minute, half = found.groups()
    hours = int(hour) % 12 + (12 if half.upper() == "PM" else 0)
    try:
        at = now.replace(hour=hours, minute=int(minute), second=0, microsecond=0) + MINUTE
        if month is not None:
            number = _MONTHS.index(month.lower()) + 1
            return at.replace(year=int(year), month=number, day=int(day))
    except ValueError:
        return now - MINUTE
    if at < now - LATE:
        return at + timedelta(days=1)
    return max(at, now)
