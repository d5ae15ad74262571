"""What an agent's or provider's error means: reads one message as the driver of its channel does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.agents.acp.error_kinds import failure_of_text, is_error
from allstop.adapters.agents.claude_code import turn_end
from allstop.adapters.agents.claude_code.messages import RateLimit, Result
from allstop.adapters.agents.codex.error_kinds import failure_of_turn
from allstop.adapters.agents.codex.messages import RateLimits, TurnError
from allstop.adapters.agents.limit_patterns import find_limit_line
from allstop.adapters.agents.provider_errors import failure_of, read_fault
from allstop.adapters.agents.reset_times import LocalTime, SystemZone
from allstop.core.accounts import LONG_WAIT
from allstop.core.errors import AllstopError
from allstop.core.moves import Failed, FailureKind

Channel = Literal[
    "claude", "claude_event", "codex", "acp", "api", "cli", "cli_only", "stderr", "stdout", "reply"
]

KINDS = {
    FailureKind.RATE_LIMITED: "rate",
    FailureKind.USAGE_LIMITED: "usage_window",
    FailureKind.BILLING: "quota_billing",
    FailureKind.OVERLOADED: "overload",
}
NONE = "none"
WARNING = "warning"


class Http(Struct, frozen=True, kw_only=True):
    """A provider's answer; status 0 is an event within a stream."""

    status: int = 0
    headers: dict[str, str | int | float] = {}
    body: Any = None


class Message(Struct, frozen=True, kw_only=True):
    """A message and where it arrived; other fields are ignored."""

    channel: Channel = "cli"
    text: str | None = ""
    http: Http | None = None
    event: dict[str, Any] | None = None
    status: int | None = None
    codex_info: Any = None
    rate_limits: dict[str, Any] | None = None
    now: datetime | None = None
    tz: str | None = None
    reset: Any = None  # its first case gives `now` and `tz` if they are missing


class Meaning(Struct, frozen=True, kw_only=True):
    """What a message means. Without an announced time, `seconds` and `at` are null."""

    limit: bool
    kind: str
    seconds: float | None = None
    at: datetime | None = None
    action: str


def read_message(line: bytes) -> Message:
    """Raises AllstopError if the line is no message."""
    try:
        return msgspec.json.decode(line, type=Message)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AllstopError(
            f"the line is no message: {error}",
            'for example {"channel": "cli", "text": "429 Too Many Requests"}',
            code="limit_message_invalid",
        ) from error


def meaning_of(message: Message, now: datetime, patterns: Sequence[str] = ()) -> Meaning:
    """What the message means at its own time, or now.

    Raises AllstopError if its time or zone can't be read.
    """
    at = _time_of(message, now)
    failed = failure_in(message, at, patterns)
    if failed is None:
        kind = WARNING if message.channel == "claude_event" else NONE
        return Meaning(limit=False, kind=kind, action="nothing")
    seconds = None if failed.retry_at is None else (failed.retry_at - at.now).total_seconds()
    return Meaning(
        limit=failed.kind in KINDS,
        kind=KINDS.get(failed.kind, failed.kind.value),
        seconds=seconds,
        at=failed.retry_at,
        action=_action(failed, at.now),
    )


def _action(failed: Failed, now: datetime) -> str:
    """What a run does: an announced wait of over a minute means that a fallback may take over."""
    is_long = failed.retry_at is not None and failed.retry_at - now > LONG_WAIT
    match failed.kind:
        case FailureKind.BILLING | FailureKind.AUTH:
            return "stop_and_tell"
        case FailureKind.CONTEXT:
            return "shorten"
        case FailureKind.USAGE_LIMITED:
            return "fallback_at_once" if failed.retry_at is None else "wait_until"
        case FailureKind.RATE_LIMITED | FailureKind.OVERLOADED:
            return "wait_until" if is_long else "retry_soon"
        case _:
            return "nothing"


def failure_in(message: Message, at: LocalTime, patterns: Sequence[str] = ()) -> Failed | None:
    """The failure that the driver of the message's channel reports; None if there is none."""
    text = message.text or ""
    match message.channel:
        case "claude":
            return turn_end.failure(_claude(message, is_error=True), None, None, "", at)
        case "claude_event":
            info = (message.event or {}).get("rate_limit_info") or {}
            limit = _converted(info, RateLimit)
            rejected = limit if limit.status == "rejected" else None
            result = _claude(message, is_error=bool(rejected))
            return turn_end.failure(result, None, rejected, "", at)
        case "codex":
            error = TurnError(message=text, codex_error_info=message.codex_info)
            return failure_of_turn(error, _converted(message.rate_limits or {}, RateLimits), at.now)
        case "acp":
            return failure_of_text(text, at)
        case "reply":
            return failure_of_text(text, at) if is_error(text) else None
        case "api":
            http = message.http or Http()
            headers = {name: str(value) for name, value in http.headers.items()}
            return failure_of(read_fault(http.status, headers, http.body), at)
        case channel:
            errors, output = ("", text) if channel == "stdout" else (text, "")
            found = find_limit_line(errors, output, patterns)
            return failure_of(replace(found.fault, kind=found.kind), at) if found else None


def _claude(message: Message, *, is_error: bool) -> Result:
    return Result(subtype="success", is_error=is_error, result=message.text or "")


def _converted(value: object, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise AllstopError(
            f"the message can't be read: {error}",
            "pass it on as the agent sent it",
            code="limit_message_invalid",
        ) from error


def _time_of(message: Message, now: datetime) -> LocalTime:
    cases = message.reset.get("cases") if isinstance(message.reset, Mapping) else None
    case = cases[0] if isinstance(cases, list) and cases and isinstance(cases[0], dict) else {}
    name = message.tz or case.get("tz") or ""
    try:
        then = message.now or (datetime.fromisoformat(case["now"]) if "now" in case else now)
        zone: tzinfo = ZoneInfo(name) if name else SystemZone()
    except (ValueError, TypeError, OSError, KeyError) as error:  # an unknown zone is a KeyError
        raise AllstopError(
            f"the message's time or zone can't be read: {error}",
            'for example "now": "2026-09-10T12:00:00Z", "tz": "Europe/Berlin"',
            code="limit_message_invalid",
        ) from error
    return LocalTime(now=then if then.tzinfo else then.replace(tzinfo=UTC), local=zone)
