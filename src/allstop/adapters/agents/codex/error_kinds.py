"""What the error of a turn means, by the type codex gives it, else by its words."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from allstop.adapters.agents import reset_times
from allstop.adapters.agents.api.error_kinds import Fault, told, verdict
from allstop.adapters.agents.api.reset_headers import MOST
from allstop.adapters.agents.codex.messages import RateLimits, TurnError
from allstop.core.moves import LIMITED, Failed, FailureKind

FULL_PERCENT = 100
BAD = 400

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


def failed(error: TurnError | None, limits: RateLimits | None, now: datetime) -> Failed:
    if error is None:
        return Failed(kind=FailureKind.CRASHED, message="codex gave no reason")
    fault = _fault(error)
    judged = verdict(fault, now)
    if judged.kind not in LIMITED:
        return judged
    at = _used_up_until(limits, now) if judged.kind is FailureKind.USAGE_LIMITED else None
    return replace(judged, retry_at=at or judged.retry_at or reset_times.retry(fault.message, now))


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
