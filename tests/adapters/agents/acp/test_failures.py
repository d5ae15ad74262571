"""K10, K13, Q18: failures behind a real ACP agent, and their kinds."""

from datetime import timedelta

import anyio
import pytest
from msgspec.structs import replace

from adapters.agents.acp.launch_claude import KEY
from adapters.agents.claude_code.launch_claude import bash, came_back
from allstop.adapters.clock import SystemClock
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.testing.model_server import ErrorReply, Fault, Say
from support.endless_model import MOST_MB, MemoryMeter
from support.silent_model import result_of
from support.sweeps import IS_SOAK, short

KINDS = {
    Fault.UNAUTHORIZED: FailureKind.AUTH,
    Fault.RATE_LIMITED: FailureKind.RATE_LIMITED,
    Fault.QUOTA: FailureKind.BILLING,
    Fault.SERVER_ERROR: FailureKind.OVERLOADED,
    Fault.OVERLOADED: FailureKind.OVERLOADED,
    Fault.BAD_REQUEST: FailureKind.BAD_REQUEST,
    Fault.TOO_LONG: FailureKind.CONTEXT,
    Fault.NO_MODEL: FailureKind.BAD_REQUEST,
    Fault.CLOSED: FailureKind.NETWORK,
    Fault.CUT: FailureKind.NETWORK,
    Fault.GARBAGE: FailureKind.NETWORK,
    Fault.BROKEN_JSON: FailureKind.NETWORK,
    Fault.WRONG_TYPES: FailureKind.NETWORK,
    Fault.NESTED: FailureKind.NETWORK,
    Fault.HTML: FailureKind.NETWORK,
    Fault.TRUNCATED: FailureKind.BAD_REQUEST,
    Fault.REFUSAL: FailureKind.BAD_REQUEST,
}
SURVIVED = (Fault.NO_USAGE, Fault.NEGATIVE_USAGE, Fault.DUPLICATE_USAGE)


@pytest.mark.parametrize("fault", short(list(KINDS), list(KINDS)[::3]))
async def test_q18_a_fault_of_the_model_has_its_class_and_nothing_is_taken_from_it(bench, fault):
    """Q18, K10: errors are free text in ACP, and may come as a reply."""
    agent = await bench.agent([fault])

    with anyio.fail_after(60):
        result = await bench.turn(agent)

    assert isinstance(result, Failed), result
    assert result.kind is KINDS[fault], result


async def test_q18_nonsense_about_usage_does_no_harm(bench):
    """Q18: three calls of one turn, and each comes with another nonsense."""
    calls = bash("true").calls
    steps = [Say(text="a zebra", calls=calls, fault=fault) for fault in SURVIVED]
    agent = await bench.agent(lambda asked: [*steps, "the end"][len(came_back(asked))])

    result = await bench.turn(agent)

    assert isinstance(result, TurnDone), result
    assert result.text.endswith("the end")
    assert 0 < result.usage.input + result.usage.output < 1000


@pytest.mark.parametrize("fault", short([Fault.SILENCE, Fault.ENDLESS_LINE], [Fault.SILENCE]))
async def test_q18_a_model_of_which_nothing_comes_is_a_stall(bench, tmp_path, fault):
    """Q18, K12: silence, or 256 MB without text; the turn's timer ends it and its program."""
    agent = await bench.agent([fault], fallback_box=replace(bench.place, workspace=None))
    server = bench.server

    result = await result_of(agent, server, bench.launcher)

    assert (result.kind, result.usage) == (FailureKind.STALLED, Usage())
    assert server.requests
    assert list((tmp_path / "live").glob("*.json")) == []


if IS_SOAK:  # minutes of work for Claude and Node; other agents are tested with it every time

    async def test_q18_words_without_end_are_shown_and_not_kept(bench):
        """Q18: 256 MB of deltas without a valid reply are a failure with a kind."""
        scales = MemoryMeter()
        agent = await bench.agent([Fault.ENDLESS_WORDS])

        result = await bench.turn(agent, scales)

        assert result.kind is FailureKind.NETWORK
        assert scales.chars > 100_000_000
        assert scales.grown_mb < MOST_MB


async def test_q18_a_slow_drip_that_ends_is_a_reply(bench):
    """Q18: slow is not broken."""
    agent = await bench.agent([Say(text="slow zebra", fault=Fault.DRIP, pause_s=1e-5)])

    result = await bench.turn(agent)

    assert isinstance(result, TurnDone), result
    assert result.text == "slow zebra"


async def test_k13_a_usage_limit_is_held_until_its_reset(bench):
    """K13: "|1754020800" is parsed if there is no typed field."""
    until = SystemClock().now().replace(microsecond=0) + timedelta(hours=2)
    words = f"Claude AI usage limit reached|{until.timestamp():.0f}"
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": words}}
    agent = await bench.agent([Say(error=ErrorReply(429, body))])

    result = await bench.turn(agent)

    assert (result.kind, result.retry_at) == (FailureKind.USAGE_LIMITED, until), result


async def test_k10_a_turn_that_was_refused_at_once_has_used_nothing(bench):
    """K10: a long prompt that is sent again and again to a limited account costs no budget."""
    agent = await bench.agent([Fault.RATE_LIMITED])

    result = await bench.turn(agent, text="x" * 50_000)

    assert result.usage == Usage()


async def test_k10_what_a_failed_turn_used_is_estimated(bench):
    """K10: a turn that fails at its second call used the first; ACP doesn't report it."""
    agent = await bench.agent(
        lambda asked: Fault.UNAUTHORIZED if came_back(asked) else bash("true")
    )

    result = await bench.turn(agent, text="x" * 4000)

    assert result.kind is FailureKind.AUTH
    assert 500 <= result.usage.input <= 2000


async def test_k11_a_key_is_not_in_the_reason(bench):
    """K11: a server that repeats the key does not get it into the record."""
    body = {"error": {"type": "invalid_request_error", "message": f"who is {KEY}?"}}
    agent = await bench.agent([Say(error=ErrorReply(400, {"type": "error", **body}))])

    result = await bench.turn(agent)

    assert result.kind is FailureKind.BAD_REQUEST
    assert "who is [the key]?" in result.message
