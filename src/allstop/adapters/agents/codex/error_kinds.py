"""Maps codex's turn errors to failures, by the error's type or else by its text."""

from datetime import UTC, datetime

from msgspec.structs import replace

from allstop.adapters.agents.codex.messages import RateLimits, TurnError
from allstop.adapters.agents.provider_errors import Fault, failure_of, fault_of_text, kind_of
from allstop.adapters.agents.reset_times import MAX_DELAY, LocalTime
from allstop.core.moves import Failed, FailureKind

FULL_PERCENT = 100
BAD_REQUEST_STATUS = 400

_KINDS = {
    "contextWindowExceeded": FailureKind.CONTEXT,
    "sessionBudgetExceeded": FailureKind.OUT_OF_BUDGET,
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
_LIMITS = {"usageLimitExceeded": "usage_limit_reached", "rateLimitExceeded": "rate_limit_exceeded"}
"""Limits, of which the words may say more: credits can be used up as well."""

_OF_ACCOUNT = frozenset({FailureKind.RATE_LIMITED, FailureKind.USAGE_LIMITED, FailureKind.BILLING})


def failure_of_turn(error: TurnError | None, limits: RateLimits | None, now: datetime) -> Failed:
    """codex prints times in its own zone, which is set to UTC."""
    if error is None:
        return Failed(kind=FailureKind.CRASHED, message="codex gave no reason")
    failure = failure_of(_fault(error), LocalTime(now=now))
    if failure.kind is not FailureKind.USAGE_LIMITED:
        return failure
    return replace(failure, retry_at=_used_up_until(limits, now) or failure.retry_at)


def is_account_limit(error: TurnError) -> bool:
    """Whether waiting within the turn makes no sense: the whole account is limited."""
    fault = _fault(error)
    return (fault.kind or kind_of(fault, is_timed=False)) in _OF_ACCOUNT


def _fault(error: TurnError) -> Fault:
    name, status = _name_and_status(error.codex_error_info)
    text = " ".join(filter(None, (error.message, error.additional_details)))
    kind = _KINDS.get(name)
    codes = (_LIMITS[name],) if name in _LIMITS else ()
    fault = fault_of_text(text, kind, status, codes)
    if kind is None and text.startswith("Incomplete response"):
        return replace(fault, kind=FailureKind.BAD_REQUEST)  # a retry gives the same
    if text.startswith("{") and fault.body is not None and not fault.status:
        return replace(fault, status=BAD_REQUEST_STATUS)  # codex passes on a refused request
    return fault


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
