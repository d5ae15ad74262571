"""Reads the windows of an account from what its provider reports: headers, and events of agents.

Nothing is made up: a share or a reset that isn't reported is None.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from allstop.adapters.agents.reset_times import reset_header
from allstop.core.accounts import Window
from allstop.core.moves import Failed, FailureKind

FIVE_HOURS, WEEK = "5 hours", "week"
SPANS = {FIVE_HOURS: 5 * 3600.0, WEEK: 7 * 86400.0}

_UNIFIED = re.compile(r"anthropic-ratelimit-unified-(\d+[hd])(?:[_-](\w+))?-utilization")
_COUNTED = re.compile(
    r"(?:anthropic-ratelimit-(?P<a>[a-z-]+)-limit|x-ratelimit-limit-(?P<x>requests|tokens))"
)
_CODEX = ("primary", "secondary")


def windows_in_headers(given: Mapping[str, str], now: datetime) -> tuple[Window, ...]:
    """The windows in the headers of Anthropic, of OpenAI and those compatible, and of codex."""
    headers = {name.lower(): value.strip() for name, value in given.items()}
    return (
        *_unified(headers, now),
        *_counted(headers, now),
        *_codex(headers, now),
    )


def _unified(headers: Mapping[str, str], now: datetime) -> Iterator[Window]:
    for name, value in headers.items():
        if (found := _UNIFIED.fullmatch(name)) is None:
            continue
        front = name.removesuffix("utilization")
        is_rejected = headers.get(f"{front}status") == "rejected"
        used = 1.0 if is_rejected else _number(value)
        title = _title(found[1], found[2])
        reset = reset_header(headers.get(f"{front}reset", ""), now)
        yield _window(title, used, reset, _span(found[1]))


def _counted(headers: Mapping[str, str], now: datetime) -> Iterator[Window]:
    for name, value in headers.items():
        if (found := _COUNTED.fullmatch(name)) is None:
            continue
        what = found["a"] or found["x"]
        is_x = found["x"] is not None
        left = headers.get(
            f"x-ratelimit-remaining-{what}" if is_x else f"anthropic-ratelimit-{what}-remaining", ""
        )
        reset = headers.get(
            f"x-ratelimit-reset-{what}" if is_x else f"anthropic-ratelimit-{what}-reset", ""
        )
        most, remaining = _number(value), _number(left)
        used = 1.0 - remaining / most if most and remaining is not None else None
        yield _window(what.replace("-", " "), used, reset_header(reset, now))


def _codex(headers: Mapping[str, str], now: datetime) -> Iterator[Window]:
    for each in _CODEX:
        percent = _number(headers.get(f"x-codex-{each}-used-percent", ""))
        minutes = _number(headers.get(f"x-codex-{each}-window-minutes", ""))
        if percent is None or not minutes:
            continue
        reset = headers.get(f"x-codex-{each}-reset-at", "") or headers.get(
            f"x-codex-{each}-reset-after-seconds", ""
        )
        span_s = minutes * 60
        yield _window(span_name(span_s), percent / 100, reset_header(reset, now), span_s)


def window_of_span(used_percent: float, span_s: float | None, resets_at: float | None) -> Window:
    """A window that codex reports."""
    reset = _instant(resets_at)
    return _window(span_name(span_s) if span_s else "limit", used_percent / 100, reset, span_s)


def window_of_claim(
    claim: str, *, rejected: bool, used: float | None, resets_at: float | None
) -> Window | None:
    """A window that Claude Code reports by the provider's name, such as `seven_day_opus`."""
    found = re.fullmatch(r"(five_hour|seven_day)(?:_(\w+))?", claim)
    if found is None:
        return None
    span = "5h" if found[1] == "five_hour" else "7d"
    share = 1.0 if rejected else used
    return _window(_title(span, found[2]), share, _instant(resets_at), _span(span))


def window_of_failure(failed: Failed) -> Window | None:
    """The window that a limit's words name as used up, if they announce its reset."""
    if failed.kind is not FailureKind.USAGE_LIMITED or failed.retry_at is None:
        return None
    words = failed.message.lower()
    if re.search(r"\bweek|7[- ]day", words):
        name = WEEK
    elif re.search(r"\b5[- ]?h(?:our)?|session limit", words):
        name = FIVE_HOURS
    else:
        return None
    return _window(name, 1.0, failed.retry_at, SPANS[name])


def span_name(span_s: float) -> str:
    """5 hours, week, 3 days, 90 minutes."""
    known = {span: name for name, span in SPANS.items()}
    if span_s in known:
        return known[span_s]
    for unit, seconds in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if span_s >= seconds and span_s % seconds == 0:
            number = round(span_s / seconds)
            return unit if number == 1 else f"{number} {unit}s"
    return f"{span_s:.0f} s"


def _title(span: str, of: str | None) -> str:
    """A window's name, with the model that it is for."""
    name = span_name(_span(span))
    return f"{name} ({of.replace('_', ' ')})" if of else name


def _span(text: str) -> float:
    return float(text[:-1]) * (3600 if text.endswith("h") else 86400)


def _window(
    name: str, used: float | None, resets_at: datetime | None, span_s: float | None = None
) -> Window:
    share = None if used is None else round(min(1.0, max(0.0, used)), 4)
    return Window(name=name, used=share, resets_at=resets_at, span_s=span_s)


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number < 1e15 else None


def _instant(seconds: float | None) -> datetime | None:
    """A plausible instant in Unix seconds."""
    if seconds is None or not 1e9 < seconds < 1e11:
        return None
    return datetime.fromtimestamp(seconds, UTC)
