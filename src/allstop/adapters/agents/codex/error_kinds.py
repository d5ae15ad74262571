"""Maps codex's turn errors to failures, by the error's type or else by its text."""

import re
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from allstop.adapters.agents import reset_times
from allstop.adapters.agents.api.error_kinds import Fault, failure_of, read_fault
from allstop.adapters.agents.api.reset_headers import MAX_DELAY
from allstop.adapters.agents.codex.messages import RateLimits, TurnError
from allstop.core.moves import LIMITED, Failed, FailureKind

FULL_PERCENT = 100
BAD_REQUEST_STATUS = 400

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


def failure_of_turn(error: TurnError | None, limits: RateLimits | None, now: datetime) -> Failed:
    if error is None:
        return Failed(kind=FailureKind.CRASHED, message="codex gave no reason")
    fault = _fault(error)
    failure = failure_of(fault, now)
    if failure.kind not in LIMITED:
        return failure
    at = _used_up_until(limits, now) if failure.kind is FailureKind.USAGE_LIMITED else None
    return replace(
        failure, retry_at=at or failure.retry_at or reset_times.codex_retry(fault.message, now)
    )


def _fault(error: TurnError) -> Fault:
    name, status = _name_and_status(error.codex_error_info)
    text = " ".join(filter(None, (error.message, error.additional_details)))
    if (body := _body(text)) is not None:
        return read_fault(status or BAD_REQUEST_STATUS, {}, body)
    if not status and (found := _STATUS.search(text)):
        status = int(found[1])
    kind = _KINDS.get(name)
    if kind is None and _CONTEXT.search(text):
        kind = FailureKind.CONTEXT
    elif kind is None and text.startswith("Incomplete response"):
        kind = FailureKind.BAD_REQUEST  # the model stopped; a retry gives the same
    return Fault(message=text, status=status, kind=kind)


def _body(text: str) -> object | None:
    """The provider's JSON error, which is codex's whole message for a bad request."""
    if not text.startswith("{"):
        return None
    try:
        body: object = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return body if isinstance(body, dict) and "error" in body else None


def _name_and_status(info: object) -> tuple[str, int]:
    """The name of the error, and the HTTP status or 0."""
    if isinstance(info, dict) and len(info) == 1:
        ((name, details),) = info.items()
        status = details.get("httpStatusCode") if isinstance(details, dict) else None
        return str(name), status if isinstance(status, int) else 0
    return (info, 0) if isinstance(info, str) else ("", 0)


def _used_up_until(limits: RateLimits | None, now: datetime) -> datetime | None:
    """The latest reset among the used-up windows."""
    windows = (limits.primary, limits.secondary) if limits else ()
    resets = [
        window.resets_at or 0
        for window in windows
        if window and window.used_percent >= FULL_PERCENT
    ]
    earliest, latest = now.timestamp(), (now + MAX_DELAY).timestamp()
    at = max((reset for reset in resets if earliest <= reset <= latest), default=None)
    return None if at is None else datetime.fromtimestamp(at, UTC)
