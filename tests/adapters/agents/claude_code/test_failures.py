"""K10, K13: the failure kinds of the real Claude Code's errors."""

from datetime import timedelta

import anyio
import pytest

from adapters.agents.claude_code.launch_claude import bash
from allstop.adapters.clock import SystemClock
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.testing.agent_contract import RecordingWatch
from allstop.testing.model_server import ErrorReply, Fault, Say
from support.endless_model import MOST_MB, MemoryMeter
from support.silent_model import result_of
from support.sweeps import short

KINDS = {
    Fault.UNAUTHORIZED: FailureKind.AUTH,
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


@pytest.mark.parametrize("fault", short(list(KINDS), list(KINDS)[::3]))
async def test_q18_k10_a_failed_call_that_calls_itself_a_success_is_a_failure(bench, fault):
    """Q18, K10: subtype "success" with is_error is a failure with a kind."""
    agent = await bench.agent([fault], env={"CLAUDE_CODE_MAX_RETRIES": "0"})

    result = await bench.turn(agent)

    assert isinstance(result, Failed), result
    assert result.kind is KINDS[fault], result
    assert result.message


@pytest.mark.parametrize("fault", [Fault.SILENCE, Fault.ENDLESS_LINE])
async def test_q18_a_model_of_which_nothing_comes_is_a_stall(bench, tmp_path, fault):
    """Q18, K12: silence, or 256 MB without text; the turn's timer ends it and its program."""
    agent = await bench.agent([fault])
    server = bench.server

    result = await result_of(agent, server, bench.launcher)

    assert (result.kind, result.usage) == (FailureKind.STALLED, Usage())
    assert server.requests
    assert list((tmp_path / "live").glob("*.json")) == []


async def test_q18_words_without_end_are_shown_and_not_kept(bench):
    """Q18: 256 MB of deltas without a valid reply are a failure with a kind."""
    scales = MemoryMeter()
    agent = await bench.agent([Fault.ENDLESS_WORDS], env={"CLAUDE_CODE_MAX_RETRIES": "0"})

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


async def test_k10_retries_come_to_an_end_and_are_told(bench):
    """K10: after a few noted retries, the turn fails; by default it would retry for minutes."""
    agent = await bench.agent([Fault.OVERLOADED])
    watch = RecordingWatch()

    with anyio.fail_after(60):
        result = await bench.turn(agent, watch)

    notices = [item.text for item in watch.items if item.kind == "notice"]
    assert result.kind is FailureKind.OVERLOADED
    assert len(bench.server.requests) == 3
    assert len(notices) == 2
    assert all("529 overloaded" in text for text in notices)


async def test_k13_a_rate_limit_ends_the_turn_with_the_time_it_was_told(bench):
    """K13: the account waits instead of a process; the retry time comes from a typed field."""
    agent = await bench.agent([Fault.RATE_LIMITED])
    before = SystemClock().now()

    result = await bench.turn(agent)

    waits = timedelta(seconds=7)
    assert result.kind is FailureKind.RATE_LIMITED
    assert before + waits <= result.retry_at <= SystemClock().now() + waits * 2  # with jitter
    assert len(bench.server.requests) == 1


async def test_k13_a_usage_limit_is_held_until_its_reset(bench):
    """K13: "|1754020800" is parsed if there is no typed field."""
    until = SystemClock().now().replace(microsecond=0) + timedelta(hours=2)
    words = f"Claude AI usage limit reached|{until.timestamp():.0f}"
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": words}}
    env = {"CLAUDE_CODE_MAX_RETRIES": "0"}
    agent = await bench.agent([Say(error=ErrorReply(429, body))], env=env)

    result = await bench.turn(agent)

    assert (result.kind, result.retry_at) == (FailureKind.USAGE_LIMITED, until)


async def test_k10_what_a_failed_turn_used_is_told(bench):
    """K10: a turn that fails at its second call has used the first."""
    answers = [bash("true"), Fault.UNAUTHORIZED]
    agent = await bench.agent(answers, env={"CLAUDE_CODE_MAX_RETRIES": "0"})

    result = await bench.turn(agent)

    assert result.kind is FailureKind.AUTH
    assert (result.usage.input, result.usage.output) == (100, 20)


async def test_k11_a_key_is_not_in_the_reason(bench):
    """K11: a server that repeats the key does not get it into the record."""
    body = {"error": {"type": "invalid_request_error", "message": "who is sk-ant-dummy-key?"}}
    env = {"CLAUDE_CODE_MAX_RETRIES": "0"}
    agent = await bench.agent([Say(error=ErrorReply(400, {"type": "error", **body}))], env=env)

    result = await bench.turn(agent)

    assert result.kind is FailureKind.BAD_REQUEST
    assert "who is [the key]?" in result.message


async def test_k10_an_overload_that_passes_costs_no_turn(bench):
    """K10: one refused call within a turn is tried again by Claude Code itself."""
    agent = await bench.agent([Fault.OVERLOADED, "zebra"])

    result = await bench.turn(agent)

    assert isinstance(result, TurnDone)
    assert result.text == "zebra"
