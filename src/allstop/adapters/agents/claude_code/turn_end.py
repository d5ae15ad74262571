"""What the end of a turn means: done, failed or limited, and what it has used."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from allstop.adapters.agents import reset_times
from allstop.adapters.agents.api.error_kinds import Fault, failure_of
from allstop.adapters.agents.claude_code.messages import (
    Assistant,
    ModelUsage,
    RateLimit,
    Result,
    Session,
)
from allstop.adapters.agents.reset_times import LocalTime
from allstop.core.moves import Failed, FailureKind, Usage
from allstop.core.text import one_line
from allstop.programs import Tail

KEPT_BYTES = 128 * 1024
REASON_CHARS = 1000
PATIENCE_S = 5.0
"""Claude Code may wait that long for its provider; a longer wait holds the account."""

_LOST = "No conversation found"

_ERRORS: Mapping[str, FailureKind] = {
    "authentication_failed": FailureKind.AUTH,
    "billing_error": FailureKind.USAGE_LIMITED,
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
    """Of this turn. What a process counts goes on from the conversation's earlier ones."""
    then, now = _sums(before.model_usage.values()), _sums(result.model_usage.values())
    read, cached, said = (max(0, n - t) for n, t in zip(now, then, strict=True))
    cost = max(0.0, result.total_cost_usd - before.total_cost_usd)
    return Usage(
        input=read,
        cached=cached,
        output=said,
        cost_microusd=round(cost * 1_000_000),
        model=_most_used(result.model_usage, before.model_usage),
    )


def _most_used(now: Mapping[str, ModelUsage], then: Mapping[str, ModelUsage]) -> str:
    """It has small models for small things."""

    def used(name: str) -> int:
        before = _sums([then[name]]) if name in then else (0, 0, 0)
        read, _, said = (n - t for n, t in zip(_sums([now[name]]), before, strict=True))
        return read + said

    return max(now, key=used, default="")


def _sums(used: Collection[ModelUsage]) -> tuple[int, int, int]:
    cached = sum(each.cache_read_input_tokens for each in used)
    fresh = sum(each.input_tokens + each.cache_creation_input_tokens for each in used)
    return fresh + cached, cached, sum(each.output_tokens for each in used)


def reply(result: Result) -> str:
    """What it said last, or the structured reply it was asked for."""
    if result.structured_output is not None:
        return json.dumps(result.structured_output, ensure_ascii=False)
    kept = Tail(KEPT_BYTES)
    kept.add((result.result or "").encode(errors="replace"))
    return kept.text()


def is_lost(result: Result) -> bool:
    """Whether the conversation that was to go on isn't there."""
    return any(_LOST in error for error in result.errors or ())


def failure(
    result: Result, told: Assistant | None, limit: RateLimit | None, why: str, at: LocalTime
) -> Failed | None:
    """Why the turn failed; None if it did not."""
    if not result.is_error and result.subtype == "success":
        return None
    words = " ".join(filter(None, (result.result, *(result.errors or ()), why)))
    if result.subtype != "success":
        kind = _SUBTYPES.get(result.subtype, FailureKind.CRASHED)
        return Failed(kind=kind, message=_shown(words or result.subtype))
    if result.terminal_reason == "prompt_too_long":
        return Failed(kind=FailureKind.CONTEXT, message=_shown(words))
    until = _until(limit, words, at)
    if until is not None or reset_times.says_limit_reached(words):
        return Failed(kind=FailureKind.USAGE_LIMITED, message=_shown(words), retry_at=until)
    codes = (told.api_error_type or "",) if told else ()
    status = result.api_error_status or 0
    by_name = not status or (told is not None and told.error == "billing_error")
    kind_or_none = _kind(told) if by_name else None
    return failure_of(Fault(message=words, status=status, codes=codes, kind=kind_or_none), at.now)


def limited(status: int | None, error: object, delay_ms: float, at: LocalTime) -> Failed | None:
    """Whether a wait before it tries again is one for the whole account."""
    if status != 429 or delay_ms <= PATIENCE_S * 1000:
        return None
    until = at.now + timedelta(milliseconds=delay_ms)
    message = f"the provider wants to be left alone for {delay_ms / 1000:g} s: {error} (HTTP 429)"
    return Failed(kind=FailureKind.RATE_LIMITED, message=message, retry_at=until)


def crashed(code: int, last_words: str) -> Failed:
    how = f"Claude Code ended without a result, with exit code {code}"
    return Failed(kind=FailureKind.CRASHED, message=f"{how}\n{last_words[-4000:]}".strip())


def _until(limit: RateLimit | None, words: str, at: LocalTime) -> datetime | None:
    if limit is not None and limit.resets_at is not None:
        return datetime.fromtimestamp(limit.resets_at, UTC)
    return reset_times.claude_reset(words, at)


def _kind(told: Assistant | None) -> FailureKind:
    if told is None or told.api_error == "connection_failed":
        return FailureKind.NETWORK
    return _ERRORS.get(told.error or "", FailureKind.NETWORK)


def _shown(words: str) -> str:
    return one_line(words, REASON_CHARS)
