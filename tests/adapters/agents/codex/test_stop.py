"""F1, F6, K2: stopping ends one conversation of the real codex and its commands, and no other."""

from pathlib import Path

import anyio
import pytest

from adapters.agents.codex.launch_codex import BEATS, outputs, run, until
from allstop.core.moves import FailureKind, TurnDone
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Say

SLOW = Say(pieces=("…",) * 1000, pause_s=0.05)


def size(beat: Path) -> int:
    return beat.stat().st_size if beat.exists() else 0


A_MOMENT_S = 0.2
"""Codex says that commands in the background are ended a little before they are."""


async def stopped_when(condition, agent, asked, watch):
    async with anyio.create_task_group() as group:
        group.start_soon(agent.take_turn, asked, watch)
        await until(condition)
        group.cancel_scope.cancel()


@pytest.mark.parametrize("waits_ms", [30_000, 250])
async def test_k10_an_interrupt_ends_the_commands_and_leaves_other_conversations(
    stage, tmp_path, waits_ms
):
    """K10, F6: codex itself leaves background commands running after an interrupt."""
    beat = tmp_path / "room" / "beat.txt"

    def answer(asked):
        if "other" in asked.blocks[-1]:
            return "zebra"
        return SLOW if outputs(asked) else run(BEATS, yield_time_ms=waits_ms)

    server = await stage.model(answer)
    agent = stage.agent(server)
    watch = RecordingWatch()

    asked = 1 if waits_ms > 1000 else 2
    await stopped_when(
        lambda: size(beat) and len(server.requests) == asked, agent, turn(None, "beat"), watch
    )

    await anyio.sleep(A_MOMENT_S)
    seen = size(beat)
    other = await agent.take_turn(turn(None, "other"), RecordingWatch())
    await anyio.sleep(0.2)
    assert other.text == "zebra"
    assert size(beat) == seen
    assert stage.launcher.killed() == ()  # the server is the same


async def test_k10_commands_left_in_the_background_end_with_the_turn(stage, tmp_path):
    """K10, K2: a turn may end while a command runs; the command is ended."""
    beat = tmp_path / "room" / "beat.txt"
    agent = await stage.agent_that(run(BEATS, yield_time_ms=250), "zebra")

    result = await agent.take_turn(turn(None), RecordingWatch())

    assert result.text == "zebra"
    await anyio.sleep(A_MOMENT_S)
    seen = size(beat)
    await anyio.sleep(0.2)
    assert size(beat) == seen > 0


async def test_f6_many_conversations_share_one_server(stage, tmp_path):
    """F6: all at once, each with its own answer; a hanging one doesn't block others."""
    server = await stage.model(
        lambda asked: SLOW if "hang" in asked.blocks[-1] else f"to {asked.blocks[-1]}"
    )
    agent = stage.agent(server)
    results = {}

    async def ask(name):
        results[name] = await agent.take_turn(turn(None, name), RecordingWatch())

    async with anyio.create_task_group() as group:
        group.start_soon(agent.take_turn, turn(None, "hang"), RecordingWatch())
        await until(lambda: server.requests)
        async with anyio.create_task_group() as quick:
            for number in range(8):
                quick.start_soon(ask, f"caller {number}")
        living = len(list((tmp_path / "live").glob("*.json")))
        group.cancel_scope.cancel()

    assert {name: result.text for name, result in results.items()} == {
        f"caller {number}": f"to caller {number}" for number in range(8)
    }
    assert len({result.thread for result in results.values()}) == 8
    assert living == 1


async def test_f1_its_death_in_mid_turn_fails_the_turn_and_the_next_one_goes_on(stage):
    """F1: restart and `thread/resume`; the history is kept."""
    server = await stage.model(
        lambda asked: SLOW if asked.blocks[-1] == "hang" else f"{len(asked.blocks)} blocks"
    )
    agent = stage.agent(server)
    first = await agent.take_turn(turn(None, "one"), RecordingWatch())
    results = []

    async def hang():
        results.append(await agent.take_turn(turn(None, "hang", first.thread), RecordingWatch()))

    async with anyio.create_task_group() as group:
        group.start_soon(hang)
        await until(lambda: len(server.requests) == 2)
        stage.launcher.kill("agent-codex")  # kill -9
    second = await agent.take_turn(turn(None, "two", first.thread), RecordingWatch())

    assert results[0].kind is FailureKind.CRASHED
    assert "codex ended with code" in results[0].message
    assert isinstance(second, TurnDone), second
    assert second.thread == first.thread
    assert [block for block in server.requests[-1].blocks if len(block) < 5] == [
        "one",
        "hang",
        "two",
    ]


async def test_f1_a_conversation_has_one_writer(stage):
    """F1: two servers on one conversation cause a temporary failure."""
    server = await stage.model(["zebra"])
    first, second = stage.agent(server), stage.agent(server)
    begun = await first.take_turn(turn(None), RecordingWatch())

    refused = await second.take_turn(turn(None, thread=begun.thread), RecordingWatch())
    await first.close()
    again = await second.take_turn(turn(None, thread=begun.thread), RecordingWatch())

    assert refused.kind is FailureKind.NETWORK
    assert "already has an active writer" in refused.message
    assert again.text == "zebra"


async def test_k10_after_close_it_starts_again_when_it_is_wanted(stage, tmp_path):
    """K10: closing ends the server and its processes."""
    agent = await stage.agent_that("zebra")
    await agent.take_turn(turn(None), RecordingWatch())

    await agent.close()

    assert list((tmp_path / "live").glob("*.json")) == []
    assert (await agent.take_turn(turn(None), RecordingWatch())).text == "zebra"


async def test_k10_a_failing_watch_stops_the_turn(stage):
    """K10, F6: if the watch fails, its error is raised and the conversation is stopped."""

    class Superseded(RecordingWatch):
        async def saw(self, item):
            raise KeyError("superseded")

    server = await stage.model([run("true"), SLOW])
    agent = stage.agent(server)

    with pytest.raises(KeyError, match="superseded"):
        await agent.take_turn(turn(None), Superseded())

    assert stage.launcher.killed() == ()
    await until(lambda: server.disconnects == len(server.requests) - 1)
