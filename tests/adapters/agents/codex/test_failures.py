"""F1, K10, K13: failures in a turn of the real codex, and their kinds."""

from datetime import UTC, datetime, timedelta

import pytest

from allstop.adapters.agents.codex.turn import STARTED_OVER
from allstop.adapters.clock import SystemClock
from allstop.core.moves import FailureKind, TurnDone, Usage
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import ErrorReply, Fault, Say
from support.endless_model import MOST_MB, MemoryMeter
from support.silent_model import result_of

USED_UP = {"type": "usage_limit_reached", "message": "x", "plan_type": "plus"}


KINDS = {
    Fault.RATE_LIMITED: FailureKind.RATE_LIMITED,
    Fault.QUOTA: FailureKind.BILLING,
    Fault.SERVER_ERROR: FailureKind.OVERLOADED,
    Fault.OVERLOADED: FailureKind.OVERLOADED,
    Fault.UNAUTHORIZED: FailureKind.AUTH,
    Fault.TOO_LONG: FailureKind.CONTEXT,
    Fault.BAD_REQUEST: FailureKind.BAD_REQUEST,
    Fault.NO_MODEL: FailureKind.BAD_REQUEST,
    Fault.TRUNCATED: FailureKind.BAD_REQUEST,
    Fault.CUT: FailureKind.NETWORK,
    Fault.CLOSED: FailureKind.NETWORK,
    Fault.GARBAGE: FailureKind.NETWORK,
    Fault.HTML: FailureKind.NETWORK,
    Fault.ENDLESS_ERROR: FailureKind.OVERLOADED,
}


async def test_q18_k10_a_failure_has_its_class(stage):
    """Q18, K10, F1: `turn/completed` is the end also after errors, and the server goes on."""
    server = await stage.model(lambda asked: Fault(asked.blocks[-1]))
    agent = stage.agent(server)

    results = {
        fault: await agent.take_turn(turn(None, fault.value), RecordingWatch()) for fault in KINDS
    }

    assert {fault: result.kind for fault, result in results.items()} == KINDS
    assert results[Fault.BAD_REQUEST].message == "Unknown parameter: 'zebra'. (HTTP 400)"


@pytest.mark.parametrize("fault", [Fault.SILENCE, Fault.ENDLESS_LINE])
async def test_q18_a_model_of_which_nothing_comes_is_a_stall(stage, fault):
    """Q18, K12: silence, or 256 MB without text; the turn's timer ends it."""
    server = await stage.model([fault])

    result = await result_of(stage.agent(server), server, stage.launcher)

    assert (result.kind, result.usage) == (FailureKind.STALLED, Usage())
    assert server.requests


@pytest.mark.parametrize("fault", [Fault.BROKEN_JSON, Fault.WRONG_TYPES, Fault.NESTED])
async def test_q18_a_spoiled_piece_is_no_word_of_the_reply(stage, fault):
    """Q18: codex takes its reply from the final event, not from the deltas."""
    agent = await stage.agent_that(fault)

    result = await agent.take_turn(turn(None), RecordingWatch())

    assert isinstance(result, TurnDone), result
    assert result.text == "the zebra crosses the road"


async def test_q18_words_without_end_are_shown_and_not_kept(stage):
    """Q18: 256 MB of deltas without a valid reply are a failure with a kind."""
    scales = MemoryMeter()
    agent = await stage.agent_that(Fault.ENDLESS_WORDS)

    result = await agent.take_turn(turn(None), scales)

    assert result.kind is FailureKind.NETWORK
    assert scales.chars > 100_000_000
    assert scales.grown_mb < MOST_MB


async def test_q18_a_slow_drip_that_ends_is_a_reply(stage):
    """Q18: slow is not broken."""
    agent = await stage.agent_that(Say(text="slow zebra", fault=Fault.DRIP, pause_s=1e-5))

    result = await agent.take_turn(turn(None), RecordingWatch())

    assert isinstance(result, TurnDone), result
    assert result.text == "slow zebra"


async def test_k13_the_reset_of_a_usage_limit_is_known_by_its_typed_fields(stage):
    """K13: typed fields first."""
    at = int(SystemClock().now().timestamp()) + 7200
    headers = {
        "x-codex-primary-used-percent": "100",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(at),
    }
    agent = await stage.agent_that(Say(error=ErrorReply(429, {"error": USED_UP}, headers)))

    result = await agent.take_turn(turn(None), RecordingWatch())

    assert result.kind is FailureKind.USAGE_LIMITED
    assert result.retry_at == datetime.fromtimestamp(at, UTC)


async def test_k13_codex_is_not_left_waiting_for_a_limit(peer, place):
    """K13: the turn ends with a limit, so that the account is held and the fallback used."""
    watch = RecordingWatch()

    result = await peer("limited").take_turn(turn(place), watch)

    assert result.kind is FailureKind.RATE_LIMITED
    assert result.retry_at is not None
    assert any("codex waits for its provider" in item.text for item in watch.items)


@pytest.mark.parametrize("hours", [1, 72])
async def test_k13_the_reset_of_a_usage_limit_is_read_from_words(stage, hours):
    """K13: then text; the same day and another day have different formats."""
    at = SystemClock().now() + timedelta(hours=hours)
    body = {"error": {**USED_UP, "resets_at": int(at.timestamp())}}
    agent = await stage.agent_that(Say(error=ErrorReply(429, body)))

    result = await agent.take_turn(turn(None), RecordingWatch())

    assert result.kind is FailureKind.USAGE_LIMITED
    assert timedelta(0) <= result.retry_at - at <= timedelta(minutes=1)


async def test_k10_a_cut_stream_is_tried_again_within_the_turn_and_shown(stage):
    """K10, F1: retry notes; an error that will be retried is not the end."""
    agent = await stage.agent_that(Fault.CUT, "zebra", retries=1)
    watch = RecordingWatch()

    result = await agent.take_turn(turn(None), watch)

    assert isinstance(result, TurnDone), result
    assert result.text == "zebra"
    assert [live.text for live in watch.lives if live.kind == "retry"] == ["Reconnecting... 1/1"]


async def test_f1_a_conversation_that_is_not_there_begins_again_and_says_so(stage):
    """F1: codex saves a conversation with its first turn; an earlier crash can be resumed."""
    agent, watch = await stage.agent_that("zebra"), RecordingWatch()
    lost = "01a1e2a3-0000-7000-8000-000000000000"

    result = await agent.take_turn(turn(None, thread=lost), watch)

    assert isinstance(result, TurnDone), result
    assert result.text == "zebra"
    assert watch.threads == [result.thread] != [lost]
    assert [item.text for item in watch.items if item.kind == "notice"] == [STARTED_OVER]


async def test_r18_it_goes_on_after_kill_9_right_after_its_thread_was_named(stage):
    """R18, F1: the id is on record before codex has saved anything."""

    class KilledError(Exception):
        pass

    class Dies(RecordingWatch):
        async def opened(self, thread):
            await super().opened(thread)
            raise KilledError

    dead, agent = Dies(), await stage.agent_that("zebra")
    with pytest.raises(KilledError):
        await agent.take_turn(turn(None), dead)
    await agent.close()
    (thread,) = dead.threads

    result = await agent.take_turn(turn(None, thread=thread), RecordingWatch())

    assert isinstance(result, TurnDone), result
    assert result.text == "zebra"


async def test_f1_a_conversation_that_codex_refuses_is_said_to_be_missing(stage):
    """F1: for a reason other than a missing conversation."""
    agent = await stage.agent_that("zebra")

    result = await agent.take_turn(turn(None, thread="no name of codex's"), RecordingWatch())

    assert result.kind is FailureKind.BAD_REQUEST
    assert "thread/resume" in result.message
