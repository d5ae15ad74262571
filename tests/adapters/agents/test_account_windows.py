"""P16: the windows of an account, as providers report them in headers and in words."""

from datetime import UTC, datetime, timedelta

import pytest

from allstop.adapters.agents.account_windows import (
    span_name,
    window_of_claim,
    window_of_failure,
    windows_in_headers,
)
from allstop.core.accounts import Window
from allstop.core.moves import Failed, FailureKind

NOW = datetime(2026, 9, 10, 12, tzinfo=UTC)
SOON = NOW + timedelta(hours=2)
LATER = NOW + timedelta(days=3)


def epoch(at):
    return str(int(at.timestamp()))


def test_p16_the_unified_headers_of_anthropic():
    headers = {
        "anthropic-ratelimit-unified-status": "allowed_warning",
        "anthropic-ratelimit-unified-5h-status": "allowed_warning",
        "anthropic-ratelimit-unified-5h-utilization": "0.93",
        "anthropic-ratelimit-unified-5h-reset": epoch(SOON),
        "Anthropic-Ratelimit-Unified-7d-Status": "rejected",
        "anthropic-ratelimit-unified-7d-utilization": "0.99",
        "anthropic-ratelimit-unified-7d-reset": epoch(LATER),
        "anthropic-ratelimit-unified-7d_opus-utilization": "0.1",
    }

    assert windows_in_headers(headers, NOW) == (
        Window(name="5 hours", used=0.93, resets_at=SOON, span_s=18000.0),
        Window(name="week", used=1.0, resets_at=LATER, span_s=604800.0),
        Window(name="week (opus)", used=0.1, resets_at=None, span_s=604800.0),
    )


def test_p16_requests_and_tokens_of_anthropic_and_of_openai():
    reset = NOW + timedelta(seconds=30)
    anthropic = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2026-09-10T12:00:30Z",
        "anthropic-ratelimit-input-tokens-limit": "40000",
        "anthropic-ratelimit-input-tokens-remaining": "10000",
        "anthropic-ratelimit-input-tokens-reset": "2026-09-10T12:00:30Z",
    }
    openai = {
        "x-ratelimit-limit-tokens": "500000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "30s",
    }

    assert windows_in_headers(anthropic, NOW) == (
        Window(name="requests", used=0.02, resets_at=reset),
        Window(name="input tokens", used=0.75, resets_at=reset),
    )
    assert windows_in_headers(openai, NOW) == (Window(name="tokens", used=1.0, resets_at=reset),)


def test_p16_the_windows_of_codex_in_headers():
    headers = {
        "x-codex-primary-used-percent": "34",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": epoch(SOON),
        "x-codex-secondary-used-percent": "104.5",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-after-seconds": "7200",
    }

    assert windows_in_headers(headers, NOW) == (
        Window(name="5 hours", used=0.34, resets_at=SOON, span_s=18000.0),
        Window(name="week", used=1.0, resets_at=SOON, span_s=604800.0),
    )


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/event-stream"},
        {"anthropic-ratelimit-unified-status": "allowed"},
        {"x-codex-primary-used-percent": "much"},
        {"retry-after": "30"},
    ],
)
def test_p16_nothing_is_made_up(headers):
    assert windows_in_headers(headers, NOW) == ()


def test_p16_unreadable_values_are_unknown():
    headers = {
        "x-ratelimit-limit-requests": "many",
        "x-ratelimit-remaining-requests": "-",
        "x-ratelimit-reset-requests": "soon",
    }

    assert windows_in_headers(headers, NOW) == (Window(name="requests"),)


def test_p16_the_claims_of_claude_code():
    seconds = SOON.timestamp()

    assert window_of_claim("seven_day_opus", rejected=False, used=0.5, resets_at=seconds) == Window(
        name="week (opus)", used=0.5, resets_at=SOON, span_s=604800.0
    )
    assert window_of_claim("five_hour", rejected=True, used=None, resets_at=None) == Window(
        name="5 hours", used=1.0, span_s=18000.0
    )
    assert window_of_claim("overage", rejected=True, used=None, resets_at=seconds) is None


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("5-hour limit reached ∙ resets 2pm", "5 hours"),
        ("You've hit your session limit · resets 3pm (UTC)", "5 hours"),
        ("Weekly limit reached ∙ resets Sep 14, 3pm (UTC)", "week"),
    ],
)
def test_p16_the_window_that_words_announce(words, name):
    failed = Failed(kind=FailureKind.USAGE_LIMITED, message=words, retry_at=SOON)

    found = window_of_failure(failed)

    assert (found.name, found.used, found.resets_at) == (name, 1.0, SOON)


def test_p16_other_failures_name_no_window():
    words = "5-hour limit reached"
    assert window_of_failure(Failed(kind=FailureKind.USAGE_LIMITED, message=words)) is None
    limit = Failed(kind=FailureKind.RATE_LIMITED, message=words, retry_at=SOON)
    assert window_of_failure(limit) is None


def test_p16_spans_have_names():
    spans = {18000: "5 hours", 604800: "week", 86400: "day", 259200: "3 days", 60: "minute"}

    assert {span: span_name(span) for span in (*spans, 90)} == {**spans, 90: "90 s"}
