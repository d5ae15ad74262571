"""Reads the end of a turn: its reply or failure, and its usage."""

import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from allstop.adapters.agents.claude_code.messages import (
    Assistant,
    ModelUsage,
    RateLimit,
    Result,
    Session,
)
from allstop.adapters.agents.provider_errors import failure_of, fault_of_text
from allstop.adapters.agents.reset_times import LocalTime
from allstop.core.moves import Failed, FailureKind, Usage, reported_microusd
from allstop.core.text import one_line
from allstop.programs import Tail

KEPT_BYTES = 128 * 1024
REASON_CHARS = 1000
MAX_WAIT_S = 5.0
"""Claude Code may wait this long for its provider; a longer wait pauses the account."""

_NOT_FOUND = "No conversation found"

_ERRORS: Mapping[str, FailureKind] = {
    "authentication_failed": FailureKind.AUTH,
    "billing_error": FailureKind.BILLING,
    "invalid_request": FailureKind.BAD_REQUEST,
    "max_output_tokens": FailureKind.BAD_REQUEST,
    "model_not_found": FailureKind.BAD_REQUEST,
    "overloaded": FailureKind.OVERLOADED,
    "rate_limit": FailureKind.RATE_LIMITED,
    "server_error": FailureKind.OVERLOADED,
}
_SUBTYPES: Mapping[str, FailureKind] = {
    "error_max_budget_usd": FailureKind.EXITED,
    "error_max_structured_output_retries": FailureKind.BAD_REQUEST,
    "error_max_turns": FailureKind.EXITED,
}


def usage(result: Result, before: Session) -> Usage:
    """The usage of this turn; a process counts from the start of the conversation."""
    then, now = _sums(before.model_usage.values()), _sums(result.model_usage.values())
    total_input, cached, output = (max(0, n - t) for n, t in zip(now, then, strict=True))
    cost = max(0.0, result.total_cost_usd - before.total_cost_usd)
    return Usage(
        input=total_input,
        cached=cached,
        output=output,
        cost_microusd=reported_microusd(cost),
        model=_most_used(result.model_usage, before.model_usage),
    )


def _most_used(now: Mapping[str, ModelUsage], then: Mapping[str, ModelUsage]) -> str:
    """The model with the most tokens; Claude Code uses small models for side tasks."""

    def used(name: str) -> int:
        before = _sums([then[name]]) if name in then else (0, 0, 0)
        total_input, _, output = (n - t for n, t in zip(_sums([now[name]]), before, strict=True))
        return total_input + output

    return max(now, key=used, default="")


def _sums(used: Collection[ModelUsage]) -> tuple[int, int, int]:
    cached = sum(each.cache_read_input_tokens for each in used)
    fresh = sum(each.input_tokens + each.cache_creation_input_tokens for each in used)
    return fresh + cached, cached, sum(each.output_tokens for each in used)


def reply(result: Result) -> str:
    """The final message, or the structured reply."""
    if result.structured_output is not None:
        return json.dumps(result.structured_output, ensure_ascii=False)
    kept = Tail(KEPT_BYTES)
    kept.add((result.result or "").encode(errors="replace"))
    return kept.text()


def is_lost(result: Result) -> bool:
    """Whether Claude Code didn't find the conversation to resume."""
    return any(_NOT_FOUND in error for error in result.errors or ())


def failure(
    result: Result,
    error_message: Assistant | None,
    limit: RateLimit | None,
    why: str,
    at: LocalTime,
) -> Failed | None:
    if not result.is_error and result.subtype == "success":
        return None
    text = " ".join(filter(None, (result.result, *(result.errors or ()), why)))
    if result.subtype != "success":
        kind = _SUBTYPES.get(result.subtype, FailureKind.CRASHED)
        return Failed(kind=kind, message=_shown(text or result.subtype))
    if result.terminal_reason == "prompt_too_long":
        return Failed(kind=FailureKind.CONTEXT, message=_shown(text))
    codes = (error_message.api_error_type or "",) if error_message else ()
    status = result.api_error_status or 0
    is_billing = error_message is not None and error_message.error == "billing_error"
    known = FailureKind.BILLING if is_billing else None
    fault = fault_of_text(text, known, status, tuple(filter(None, codes)), _kind(error_message))
    failed = failure_of(fault, at)
    if limit is None or limit.resets_at is None or is_billing:
        return failed
    until = datetime.fromtimestamp(limit.resets_at, UTC)
    return replace(failed, kind=FailureKind.USAGE_LIMITED, retry_at=until)


def account_limit(
    status: int | None, error: object, delay_ms: float, at: LocalTime
) -> Failed | None:
    """The failure if the wait before a retry is long enough to pause the account."""
    if status != 429 or delay_ms <= MAX_WAIT_S * 1000:
        return None
    until = at.now + timedelta(milliseconds=delay_ms)
    message = f"the provider asks to wait {delay_ms / 1000:g} s: {error} (HTTP 429)"
    return Failed(kind=FailureKind.RATE_LIMITED, message=message, retry_at=until)


def crash(code: int, stderr: str) -> Failed:
    how = f"Claude Code ended without a result, with exit code {code}"
    return Failed(kind=FailureKind.CRASHED, message=f"{how}\n{stderr[-4000:]}".strip())


def _kind(error_message: Assistant | None) -> FailureKind:
    if error_message is None or error_message.api_error == "connection_failed":
        return FailureKind.NETWORK
    return _ERRORS.get(error_message.error or "", FailureKind.NETWORK)


def _shown(text: str) -> str:
    return one_line(text, REASON_CHARS)
