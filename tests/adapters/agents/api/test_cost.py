"""K5, K6, K13: the cost of calls, and the end of limits."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.adapters.agents.api.call_usage import ReportedUsage, TokenCounts, count_tokens
from allstop.adapters.agents.api.token_prices import PriceOverride, TokenPrice
from allstop.adapters.agents.provider_errors import Fault, failure_of, read_fault
from allstop.adapters.agents.reset_times import LocalTime, retry_at
from allstop.core.moves import FailureKind, Usage
from allstop.core.prompt import CacheLifetime
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Say, model_server
from support.api_agents import ANTHROPIC, OPENAI, turn_with_talk
from support.cases import for_each

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
AT = LocalTime(now=NOW)
SPENT = TokenCounts(input=1_000_000, cached=400_000, written=100_000, output=10_000)


def cost(model, provider, counts=SPENT, **more):
    return TokenPrice(model, provider=provider, **more).microusd(counts, NOW)


def test_k6_the_price_list_knows_the_default_models():
    """K6: a maintained list; cached tokens cost less, written ones more."""
    claude = TokenCounts(input=100_000, cached=40_000, written=10_000, output=1_000)
    for_hour = TokenCounts(
        input=100_000, cached=40_000, written=10_000, output=1_000, for_hour=True
    )

    assert cost("claude-sonnet-5-5", "anthropic", claude) == 100_000 + 4_000 + 25_000 + 10_000
    assert cost("claude-sonnet-5-5", "anthropic", for_hour) == 100_000 + 4_000 + 40_000 + 10_000
    assert cost("gpt-6.1-sol", "openai", claude) == 100_000 + 4_000 + 25_000 + 10_000


def test_k6_own_prices_stand_over_the_list():
    """K6: each price separately; the list has the others."""
    fresh = TokenCounts(input=1000, output=1000)

    assert cost("claude-sonnet-5-5", "anthropic", fresh) == 12_000
    own = PriceOverride(output_mtok=1)
    assert cost("claude-sonnet-5-5", "anthropic", fresh, own=own) == 3_000
    own = PriceOverride(input_mtok=5, output_mtok=0)
    assert cost("my-model", "", fresh, own=own) == 5_000


@pytest.mark.parametrize(
    ("model", "provider", "more"),
    [
        ("llama3.2", "", {}),
        ("no-such-zebra", "openai", {}),
        ("claude-sonnet-5-5", "anthropic", {"free": True}),
        ("zebra", "", {"own": PriceOverride(input_mtok=9), "free": True}),
    ],
    ids=["own machine", "unknown", "flat rate", "flat rate before own price"],
)
def test_k6_what_has_no_price_costs_nothing(model, provider, more):
    """K6: flat-rate plans count tokens only."""
    assert cost(model, provider, **more) == 0


async def used(connector, say, a_turn=None, **more):
    async with model_server([say]) as server:
        agent = connector.at(server, **more)
        result = await agent.take_turn(a_turn or turn(None), RecordingWatch())
        await agent.close()
    return result.usage


async def test_k7_the_model_is_told_with_what_was_used(connector):
    assert (await used(connector, Say(text="x"))).model == connector.model


async def test_k5_input_includes_what_came_from_a_cache(connector):
    """K5, R12: cached tokens count as tokens."""
    usage = await used(connector, Say(text="x", input=1000, cached=600, output=10))

    assert (usage.input, usage.cached, usage.output) == (1000, 600, 10)


@pytest.mark.parametrize("each", [OPENAI, ANTHROPIC], ids=lambda connector: connector.name)
async def test_k6_a_turn_costs_what_the_list_says(each):
    """K6: $2 and $10 for a million, $0.10 from the cache, $2.50 into it."""
    say = Say(text="x", input=10_000, cached=4_000, written=1_000, output=1_000)

    assert await used(each, say) == Usage(
        input=10_000,
        cached=4_000,
        output=1_000,
        cost_microusd=10_000 + 400 + 2_500 + 10_000,
        model=each.model,
    )


async def test_k6_an_hour_in_the_cache_costs_more():
    """K6: twice the price of input at Anthropic."""
    say = Say(text="x", input=10_000, written=10_000, output=0)

    usage = await used(ANTHROPIC, say, turn_with_talk("*hi", lifetime=CacheLifetime.HOUR))

    assert usage.cost_microusd == 40_000 + 10  # one token is charged for the x


@pytest.mark.parametrize("value", [None, -1, 0, 10**9 + 1, "7", 7.5, True, float("nan")])
def test_k5_r5_only_counts_are_believed(value):
    """R5: if usage is missing or implausible, the estimate counts."""
    reported = ReportedUsage(input=value, cached=value, written=value, output=value)

    assert count_tokens(reported, 400, 40) == TokenCounts(input=100, output=10)


def test_k5_no_more_can_come_from_the_cache_than_was_sent():
    reported = ReportedUsage(input=100, cached=500, written=500, output=1)

    assert count_tokens(reported, 4, 4) == TokenCounts(input=100, cached=100, written=0, output=1)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Mon, 16 Nov 2026 12:00:30 GMT"}, 30),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360),
        ({"x-ratelimit-reset-requests": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-reset-tokens": "20ms"}, 0.02),
        (
            {
                "x-ratelimit-remaining-requests": "9999",
                "x-ratelimit-reset-requests": "24h",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "12s",
            },
            12,
        ),
        ({"anthropic-ratelimit-input-tokens-reset": "2026-11-16T12:01:00Z"}, 60),
        (
            {
                "anthropic-ratelimit-requests-remaining": "50",
                "anthropic-ratelimit-requests-reset": "2026-11-16T13:00:00Z",
                "anthropic-ratelimit-output-tokens-remaining": "0",
                "anthropic-ratelimit-output-tokens-reset": "2026-11-16T12:00:05Z",
            },
            5,
        ),
        ({"anthropic-ratelimit-unified-reset": str(int(NOW.timestamp()) + 90)}, 90),
        ({"retry-after": "soon", "x-ratelimit-reset-tokens": "4s"}, 4),
    ],
)
def test_k13_every_format_of_a_reset_is_understood(headers, seconds):
    """K13: typed fields of both providers."""
    assert retry_at(headers, "", AT) == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.5s. See more.", 1.5),
        ("Please try again in 6m0s.", 360),
        ("You will regain access on 2026-11-17 at 00:00 UTC.", 12 * 3600),
        ("You will regain access on 2036-11-17 at 00:00 UTC.", None),
        ("Try again later.", None),
    ],
)
def test_k13_words_count_where_no_field_says_it(message, seconds):
    """K13: typed fields first, then texts."""
    expected = None if seconds is None else NOW + timedelta(seconds=seconds)

    assert retry_at({}, message, AT) == expected
    assert retry_at({"retry-after": "7"}, message, AT) == NOW + timedelta(seconds=7)


@for_each("value", ["", "soon", "-5", "1e400", "9" * 30, "Mon, 99 Zeb", "2020-01-01T00:00:00Z"])
@for_each("name", ["retry-after", "retry-after-ms", "x-ratelimit-reset-tokens", "content-type"])
def test_k13_an_implausible_reset_is_ignored(name, value):
    """K13, Q18: implausible times are ignored."""
    assert retry_at({name: value}, "", AT) is None


@for_each(
    ("status", "error", "kind"),
    [
        (400, {"message": "Your credit balance is too low"}, FailureKind.BILLING),
        (402, {"message": "Payment required"}, FailureKind.BILLING),
        (429, {"message": "slow", "code": "rate_limit_exceeded"}, FailureKind.RATE_LIMITED),
        (429, {"message": "no", "code": "insufficient_quota"}, FailureKind.BILLING),
        (
            429,
            {"message": "no", "details": {"error_code": "enforced_spend_limit_reached"}},
            FailureKind.BILLING,
        ),
        (429, {"message": "context window tokens a minute"}, FailureKind.RATE_LIMITED),
        (413, {"type": "request_too_large", "message": "large"}, FailureKind.CONTEXT),
        (400, {"message": "the prompt exceeds the available context size"}, FailureKind.CONTEXT),
        (403, {"message": "not in your region"}, FailureKind.AUTH),
        (404, {"message": "model 'x' not found"}, FailureKind.BAD_REQUEST),
        (408, {"message": ""}, FailureKind.TIMED_OUT),
        (301, {"message": "elsewhere"}, FailureKind.BAD_REQUEST),
        (502, "<html>Bad gateway</html>", FailureKind.OVERLOADED),
        (504, None, FailureKind.OVERLOADED),
        (529, {"type": "overloaded_error", "message": "Overloaded"}, FailureKind.OVERLOADED),
        (0, {"type": "overloaded_error", "message": "Overloaded"}, FailureKind.OVERLOADED),
        (0, {"code": "rate_limit_exceeded", "message": "slow"}, FailureKind.RATE_LIMITED),
        (0, {"type": "zebra_error", "message": "?"}, FailureKind.NETWORK),
        (200, {"type": "authentication_error", "message": "?"}, FailureKind.AUTH),
    ],
)
def test_r17_k10_errors_are_told_apart(status, error, kind):
    """R17, K10: by status, code and text, with a readable reason."""
    failed = failure_of(read_fault(status, {"retry-after": "7"}, {"error": error}), AT)

    assert failed.kind is kind
    assert failed.message
    assert "<" not in failed.message
    limited = kind.value in ("rate_limited", "usage_limited", "overloaded", "billing")
    assert failed.retry_at == (NOW + timedelta(seconds=7) if limited else None)


def test_r17_a_reason_is_one_short_line():
    failed = failure_of(Fault(message="so\nlong " * 1000, status=400), AT)

    assert "\n" not in failed.message
    assert len(failed.message) < 700


def test_r17_k12_a_reason_can_be_written_down_whatever_it_has_in_it():
    """R17, K12: lone surrogates, escape sequences."""
    failed = failure_of(read_fault(400, {}, {"error": {"message": "no \ud800\x1b[31m zebra"}}), AT)

    assert failed.message == "no ? zebra (HTTP 400)"


@pytest.mark.parametrize(
    ("model", "provider"),
    [("claude-sonnet-4-5", "anthropic"), ("gpt-6.1-sol", "openai"), ("nobody-knows", "openai")],
)
@given(
    tokens=st.integers(1, 2_000_000),
    parts=st.tuples(*[st.floats(0, 1)] * 3),
    for_hour=st.booleans(),
)
def test_k5_no_call_costs_more_than_the_highest_price_per_token(
    model, provider, tokens, parts, for_hour
):
    """K5: so a cost budget holds if tokens are capped, for every kind and price tier."""
    price = TokenPrice(model, provider=provider)
    output = int(tokens * parts[0])
    cached = int((tokens - output) * parts[1])
    written = int((tokens - output - cached) * parts[2])
    used = TokenCounts(
        input=tokens - output, cached=cached, written=written, output=output, for_hour=for_hour
    )

    assert price.microusd(used, NOW) <= math.ceil(price.highest_price(NOW) * tokens)


def test_k6_a_subscription_reserves_no_money():
    assert TokenPrice("claude-sonnet-5-5", provider="anthropic", free=True).highest_price(NOW) == 0
