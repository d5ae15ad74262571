"""F1, K12: rare behaviour of an app-server, with a fake one."""

import json

import anyio
import pytest

from adapters.agents.codex.launch_codex import until
from allstop.core.moves import FailureKind, TurnDone
from allstop.testing.agent_contract import RecordingWatch, turn


async def test_f1_an_unknown_request_gets_an_error_and_an_unknown_note_is_passed_over(peer, place):
    """F1: neither silence nor an approval."""
    result = await peer("unknown").take_turn(turn(place), RecordingWatch(allows=True))

    assert json.loads(result.text) == [[number, -32601] for number in (77, 78, 79, "s")]


async def test_f1_what_comes_late_from_another_turn_does_not_count(peer, place):
    """F1: its text, usage and end don't belong to this turn."""
    watch = RecordingWatch()

    result = await peer("late").take_turn(turn(place), watch)

    assert result.text == "zebra"
    assert [item.text for item in watch.items] == ["zebra"]
    assert (result.usage.input, result.usage.output) == (5, 1)


async def test_k12_lines_that_are_no_messages_are_survived(peer, place):
    """K12: no JSON, no UTF-8, fields of another type."""
    result = await peer("garbled").take_turn(turn(place), RecordingWatch())

    assert result.text == "z\N{REPLACEMENT CHARACTER}bra"


async def test_k12_a_line_without_an_end_ends_the_turn(peer, place):
    """K12: neither a hang nor 64 MB more."""
    with anyio.fail_after(60):
        result = await peer("endless").take_turn(turn(place), RecordingWatch())

    assert result.kind is FailureKind.CRASHED
    assert result.message == "codex: a line is longer than 33,554,432 bytes"


@pytest.mark.parametrize("room", [True, False])
async def test_f1_its_death_is_a_failed_turn_with_its_last_words(peer, place, room):
    """F1: and what it had used by then."""
    result = await peer("dying").take_turn(turn(None if room else place), RecordingWatch())

    assert result.kind is FailureKind.CRASHED
    assert result.message == "codex ended with code 3\nout of cheese"
    assert result.usage.input == 11


async def test_f1_a_request_that_is_not_answered_is_given_up(peer, place):
    """F1: every request has a time limit."""
    result = await peer("mute", answer_within_s=0.3).take_turn(turn(place), RecordingWatch())

    assert result.kind is FailureKind.STALLED
    assert result.message == "codex did not answer initialize within 0.3 s"


async def test_f1_a_withdrawn_request_is_not_asked_any_more(peer, place):
    """F1: a pending question ends with its request."""

    class Undecided(RecordingWatch):
        async def ask(self, ask):
            self.asks.append(ask)
            await anyio.sleep_forever()

    watch = Undecided()
    with anyio.fail_after(60):
        result = await peer("taken_back").take_turn(turn(place), watch)

    assert len(watch.asks) == 1
    assert isinstance(result, TurnDone)


@pytest.mark.parametrize("room", [True, False])
async def test_k10_one_that_does_not_stop_is_ended(peer, place, tmp_path, room):
    """K10, K2: if an interrupt isn't answered, the whole process tree is ended."""
    watch = RecordingWatch()
    agent = peer("deaf")
    async with anyio.create_task_group() as group:
        group.start_soon(agent.take_turn, turn(None if room else place), watch)
        await until(lambda: watch.lives)
        group.cancel_scope.cancel()

    assert list((tmp_path / "live").glob("*.json")) == []


async def test_f6_turns_on_a_server_that_was_ended_fail(peer, tmp_path):
    """F6, F1: the other turns fail, and the next ones use a fresh server."""
    agent = peer("deaf")
    watch = RecordingWatch()
    results = []

    async def other():
        results.append(await agent.take_turn(turn(None), RecordingWatch()))

    async with anyio.create_task_group() as others, anyio.create_task_group() as group:
        group.start_soon(agent.take_turn, turn(None), watch)
        await until(lambda: watch.lives)
        others.start_soon(other)
        await anyio.sleep(0.05)
        group.cancel_scope.cancel()

    assert results[0].kind is FailureKind.CRASHED
    assert results[0].message == "codex did not stop the turn in time"
    assert list((tmp_path / "live").glob("*.json")) == []


async def test_a_program_that_is_not_there_is_a_clear_failure(stage, place):
    agent = stage.agent_at("http://127.0.0.1:1", program="/no/such/codex")

    result = await agent.take_turn(turn(place), RecordingWatch())

    assert result.kind is FailureKind.UNAVAILABLE
    assert "/no/such/codex" in result.message
