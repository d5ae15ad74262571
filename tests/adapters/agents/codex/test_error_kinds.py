"""K10, K13: the kinds of codex's errors, by type or else by text."""

from datetime import UTC, datetime

import pytest

from allstop.adapters.agents.codex.error_kinds import failure_of_turn
from allstop.adapters.agents.codex.messages import RateLimits, TurnError, Window
from allstop.core.moves import FailureKind

NOW = datetime(2026, 11, 16, 16, 50, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("info", "message", "kind"),
    [
        ("contextWindowExceeded", "x", FailureKind.CONTEXT),
        ("usageLimitExceeded", "x", FailureKind.USAGE_LIMITED),
        ("rateLimitExceeded", "x", FailureKind.RATE_LIMITED),
        ("serverOverloaded", "x", FailureKind.OVERLOADED),
        ("unauthorized", "x", FailureKind.AUTH),
        ("sandboxError", "x", FailureKind.BAD_REQUEST),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, "x", FailureKind.RATE_LIMITED),
        ({"httpConnectionFailed": {"httpStatusCode": 503}}, "x", FailureKind.OVERLOADED),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, "x", FailureKind.AUTH),
        ({"httpConnectionFailed": {"httpStatusCode": None}}, "x", FailureKind.NETWORK),
        ({"httpConnectionFailed": {"httpStatusCode": 404}}, "x", FailureKind.BAD_REQUEST),
        ("other", "unexpected status 404 Not Found: no model 'x'", FailureKind.BAD_REQUEST),
        ({"responseStreamDisconnected": {}}, "x", FailureKind.NETWORK),
        ("other", "stream disconnected before completion", FailureKind.NETWORK),
        ("other", "unexpected status 403 Forbidden: no", FailureKind.AUTH),
        ("other", '{"error": {"code": "context_length_exceeded"}}', FailureKind.CONTEXT),
        ("other", '{"error": {"message": "no such tool"}}', FailureKind.BAD_REQUEST),
        ("other", "{ not json", FailureKind.NETWORK),
        ({"born": {"later": 1}, "than": "this"}, "x", FailureKind.NETWORK),
        (["nonsense"], "x", FailureKind.NETWORK),
    ],
)
def test_k10_an_error_has_its_class(info, message, kind):
    """K10: the type that codex gives it comes first."""
    assert (
        failure_of_turn(TurnError(message=message, codex_error_info=info), None, NOW).kind is kind
    )


@pytest.mark.parametrize(
    ("limits", "at"),
    [
        (RateLimits(primary=Window(used_percent=100, resets_at=1_794_850_000)), 1_794_850_000),
        (
            RateLimits(
                primary=Window(used_percent=100, resets_at=1_794_850_000),
                secondary=Window(used_percent=100, resets_at=1_795_000_000),
            ),
            1_795_000_000,
        ),
        (RateLimits(primary=Window(used_percent=40, resets_at=1_794_850_000)), None),
        (RateLimits(primary=Window(used_percent=100, resets_at=1)), None),
        (RateLimits(primary=Window(used_percent=100, resets_at=10**15)), None),
        (RateLimits(primary=Window(used_percent=100)), None),
        (None, None),
    ],
)
def test_k13_a_reset_is_that_of_the_last_window_which_is_used_up(limits, at):
    """K13: typed fields first; nonsense is no date."""
    error = TurnError(message="limit", codex_error_info="usageLimitExceeded")

    retry_at = failure_of_turn(error, limits, NOW).retry_at

    assert retry_at == (datetime.fromtimestamp(at, UTC) if at else None)
