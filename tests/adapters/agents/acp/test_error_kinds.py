"""K10, K13: the failure kind of errors that are only text."""

from datetime import UTC, datetime, timedelta

import pytest

from allstop.adapters.agents.acp.error_kinds import failure_of_request, failure_of_text, is_error
from allstop.adapters.agents.reset_times import LocalTime
from allstop.adapters.agents.rpc_peer import RpcError
from allstop.core.moves import FailureKind

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
AT = LocalTime(now=NOW, local=UTC)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", FailureKind.RATE_LIMITED),
        ("API Error: Request rejected (429) · would exceed your limit", FailureKind.RATE_LIMITED),
        ("Rate limit exceeded. Try again later.", FailureKind.RATE_LIMITED),
        ("You exceeded your current quota (429)", FailureKind.BILLING),
        ("You've hit your usage limit.", FailureKind.USAGE_LIMITED),
        ("API Error: 529 Overloaded.", FailureKind.OVERLOADED),
        ("unexpected status 503 Service Unavailable: busy", FailureKind.OVERLOADED),
        ("The model is overloaded", FailureKind.OVERLOADED),
        ("unexpected status 401 Unauthorized: Missing bearer", FailureKind.AUTH),
        ("Invalid API key · Fix external API key", FailureKind.AUTH),
        ("Prompt is too long · the request is ~1000001 tokens", FailureKind.CONTEXT),
        ("API Error: Connection to the API was lost (ECONNRESET).", FailureKind.NETWORK),
        ("stream disconnected before completion: network error", FailureKind.NETWORK),
        ("API Error: 400 tools.0: no such field", FailureKind.BAD_REQUEST),
        ("it took 429 steps and then the cheese was out", FailureKind.BAD_REQUEST),
        ('{"error": {"message": "x", "code": "context_length_exceeded"}}', FailureKind.CONTEXT),
        ('{"error": {"message": "Unknown parameter", "type": "x"}}', FailureKind.BAD_REQUEST),
        ('{"error": "broken', FailureKind.BAD_REQUEST),
        ("", FailureKind.BAD_REQUEST),
    ],
)
def test_k10_an_error_text_has_a_kind(words, kind):
    assert failure_of_text(words, AT).kind is kind


@pytest.mark.parametrize(
    ("words", "until"),
    [
        ("Claude AI usage limit reached|1772373600", NOW + timedelta(hours=2)),
        ("You've hit your limit · resets 2:30pm (UTC)", NOW + timedelta(hours=2, minutes=30)),
        ("You've hit your usage limit. Try again in 2 hours.", NOW + timedelta(hours=2)),
        ("You've hit your usage limit.", None),
    ],
)
def test_k13_the_end_of_a_usage_limit_is_parsed_from_text(words, until):
    result = failure_of_text(words, AT)

    assert (result.kind, result.retry_at) == (FailureKind.USAGE_LIMITED, until)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (RpcError(code=-32000, message="Authentication required"), FailureKind.AUTH, "required"),
        (
            RpcError(code=-32603, message="slow down", data={"errorKind": "rate_limit"}),
            FailureKind.RATE_LIMITED,
            "slow down",
        ),
        (  # of a type that says little, the words say more
            RpcError(code=-32603, message="529 Overloaded", data={"errorKind": "server_error"}),
            FailureKind.OVERLOADED,
            "529",
        ),
        (
            RpcError(code=-32603, message="Internal error", data={"details": "fetch failed"}),
            FailureKind.NETWORK,
            "fetch failed",
        ),
        (RpcError(code=-32603, data="quota exceeded"), FailureKind.RATE_LIMITED, "quota"),
        (RpcError(code=-32600), FailureKind.BAD_REQUEST, "error -32600"),
    ],
)
def test_k10_an_error_is_told_by_its_type_before_its_words(fault, kind, words):
    result = failure_of_request(fault, AT)

    assert result.kind is kind
    assert words in result.message


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests\n\n", True),
        ('{"error": {"message": "Your input exceeds the context window."}}\n\n', True),
        ("API Error: 529 Overloaded.", True),
        ("I fixed the API Error: 529 is tried again.", False),
        ("API Error " + "x" * 3000, False),
        ("", False),
    ],
)
def test_k10_only_a_reply_that_is_nothing_but_an_error_is_one(reply, expected):
    assert is_error(reply) is expected
