"""Q18, R17, K10: every fault of a model server, with every connector."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from allstop.adapters.agents.api.http_client import CallLimits
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Fault, Say, model_server
from support.api_agents import ANTHROPIC, KEY, OLLAMA, OPENAI, FrozenClock

QUICK = CallLimits(total_s=0.4)
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)

KINDS = {
    Fault.UNAUTHORIZED: FailureKind.AUTH,
    Fault.RATE_LIMITED: FailureKind.RATE_LIMITED,
    Fault.QUOTA: FailureKind.BILLING,
    Fault.SERVER_ERROR: FailureKind.OVERLOADED,
    Fault.OVERLOADED: FailureKind.OVERLOADED,
    Fault.BAD_REQUEST: FailureKind.BAD_REQUEST,
    Fault.TOO_LONG: FailureKind.CONTEXT,
    Fault.NO_MODEL: FailureKind.BAD_REQUEST,
    Fault.REDIRECT: FailureKind.BAD_REQUEST,
    Fault.CLOSED: FailureKind.NETWORK,
    Fault.CUT: FailureKind.NETWORK,
    Fault.SILENCE: FailureKind.TIMED_OUT,
    Fault.DRIP: FailureKind.TIMED_OUT,
    Fault.GARBAGE: FailureKind.NETWORK,
    Fault.BROKEN_JSON: FailureKind.NETWORK,
    Fault.WRONG_TYPES: FailureKind.NETWORK,
    Fault.NESTED: FailureKind.NETWORK,
    Fault.BAD_UTF8: FailureKind.NETWORK,
    Fault.ENDLESS_LINE: FailureKind.NETWORK,
    Fault.ENDLESS_WORDS: FailureKind.NETWORK,
    Fault.ENDLESS_ERROR: FailureKind.OVERLOADED,
    Fault.HTML: FailureKind.NETWORK,
    Fault.ERROR_EVENT: FailureKind.OVERLOADED,
    Fault.EMPTY: FailureKind.NETWORK,
    Fault.TRUNCATED: FailureKind.BAD_REQUEST,
    Fault.REFUSAL: FailureKind.BAD_REQUEST,
}
SLOW = (Fault.SILENCE, Fault.DRIP)
ENDLESS = (Fault.ENDLESS_LINE, Fault.ENDLESS_WORDS, Fault.ENDLESS_ERROR)
UNCHARGED = {*list(KINDS)[: list(KINDS).index(Fault.CUT)], Fault.ENDLESS_ERROR, Fault.HTML}
PEAK = Path("/proc/self/clear_refs")


async def result_of(connector, answer, limits=None, **more):
    async with model_server([answer]) as server:
        agent = connector.at(server, limits=limits, **more)
        watch = RecordingWatch()
        result = await agent.take_turn(turn(None, "what crosses the road?"), watch)
        await agent.close()
    return result, server, watch


@pytest.mark.parametrize("fault", KINDS, ids=str)
async def test_q18_r17_k10_a_fault_is_the_right_failure(connector, fault):
    """Q18, R17, K10: the right kind, a readable reason, one call, no crash, and never the key."""
    limits = QUICK if fault in SLOW else None

    result, server, _ = await result_of(connector, fault, limits)

    assert isinstance(result, Failed)
    assert result.kind is KINDS[fault]
    assert 20 < len(result.message) < 700
    assert "\n" not in result.message
    assert KEY not in result.message
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", KINDS, ids=str)
async def test_q18_k10_only_a_stream_that_had_begun_is_charged(connector, fault):
    """K5, R5: the prompt and the partial reply are charged by estimate."""
    result, _, _ = await result_of(connector, fault, QUICK if fault in SLOW else None)

    assert (result.usage == Usage()) == (fault in UNCHARGED)


@pytest.mark.skipif(not PEAK.exists(), reason="only Linux tells the highest memory")
@pytest.mark.parametrize("fault", ENDLESS, ids=str)
async def test_q18_256_mb_bloat_nothing(connector, fault):
    """Q18, K12: the input is cut off, and memory grows by less than 50 MB."""
    await result_of(connector, "warm")
    PEAK.write_text("5")  # forgets the highest memory so far
    before = memory_mb("VmRSS")

    await result_of(connector, fault)

    assert memory_mb("VmHWM") - before <= 50


def memory_mb(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024


async def test_q18_a_slow_drip_that_ends_is_a_reply(connector):
    """Q18: slow is not broken."""
    result, _, watch = await result_of(connector, Say(text="slow", fault=Fault.DRIP, pause_s=1e-5))

    assert isinstance(result, TurnDone)
    assert result.text == "slow"
    assert "".join(live.text for live in watch.lives) == "slow"


@pytest.mark.parametrize("fault", [Fault.NO_USAGE, Fault.NEGATIVE_USAGE], ids=str)
async def test_q18_k5_nonsense_about_usage_is_replaced_by_the_estimate(connector, fault):
    """K5, R5: characters ÷ 4 if the provider reports nothing or negative numbers."""
    result, _, _ = await result_of(connector, fault)

    assert isinstance(result, TurnDone)
    assert (result.usage.input, result.usage.output) == (6, 7)


async def test_q18_k5_usage_that_is_told_twice_counts_once(connector):
    """K5: the counts in a stream are cumulative."""
    result, _, _ = await result_of(connector, Fault.DUPLICATE_USAGE)

    assert (result.usage.input, result.usage.output) == (100, 20)


async def test_k13_a_limit_says_until_when(connector):
    """K13: from the provider's retry header."""
    result, _, _ = await result_of(connector, Fault.RATE_LIMITED, clock=FrozenClock(NOW))

    assert result.retry_at == NOW + timedelta(seconds=7)


async def test_r17_a_key_that_is_refused_is_named(connector):
    """R17: the message names its variable."""
    result, _, _ = await result_of(connector, Fault.UNAUTHORIZED)

    assert "ZEBRA_KEY" in result.message


async def test_r17_a_server_that_is_not_there(connector):
    """R17, Q18: connection refused."""
    async with model_server(["zebra"]) as server:
        pass
    agent = connector.at(server)

    result = await agent.take_turn(turn(None), RecordingWatch())
    await agent.close()

    assert result.kind is FailureKind.NETWORK
    assert "connection failed" in result.message


@pytest.mark.parametrize("size", [0, 1, 31])
async def test_q18_a_reply_is_counted_against_the_cap_as_it_came(connector, size):
    """Q18: the cap counts raw bytes; smaller replies are unchanged."""
    limits = CallLimits(bytes=64 * 1024)

    result, _, _ = await result_of(connector, "x" * 100 + "y" * size, limits)
    larger, _, _ = await result_of(connector, "x" * 70_000, limits)

    assert isinstance(result, TurnDone)
    assert larger.kind is FailureKind.NETWORK
    assert "65,536 bytes" in larger.message


@pytest.mark.parametrize("connector", [OPENAI, OLLAMA, ANTHROPIC], ids=lambda each: each.name)
async def test_r1_nothing_that_is_half_a_character_gets_through(connector):
    """R1, K12: split surrogate pairs are joined; lone ones are replaced."""
    result, _, watch = await result_of(connector, Say(pieces=("a\ud83d", "\ude00b", "\udfff!")))

    assert result.text == "a😀b\N{REPLACEMENT CHARACTER}!"
    assert "".join(live.text for live in watch.lives) == result.text
