"""K10, B20: messages to codex during a turn."""

import anyio
import pytest

from adapters.agents.codex.launch_codex import run, until
from allstop.core.moves import TurnDone
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Say

SLOWLY = Say(pieces=("begun", *("…",) * 20), pause_s=0.05)


async def test_b20_its_model_is_asked_again_with_what_was_said(stage, place):
    """B20: even during its last reply, which is cut off."""
    server = await stage.model(lambda asked: "heard" if "horse" in asked.user else SLOWLY)
    agent, watch, results = stage.agent(server), RecordingWatch(), []

    async def take():
        results.append(await agent.take_turn(turn(place), watch))

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        await until(lambda: watch.lives)
        watch.say("zebra", "horse")

    assert watch.delivered == ["zebra", "horse"]
    assert server.requests[-1].blocks[-3:] == ("hello", "zebra", "horse")
    assert results[0].text == "heard"


async def test_b20_in_rooms_it_is_told_too(stage):
    """B20, F6: one server for all; each conversation gets its own messages."""
    server = await stage.model(lambda asked: asked.blocks[-1] if "zebra" in asked.user else SLOWLY)
    agent, watch, other, results = stage.agent(server), RecordingWatch(), RecordingWatch(), []

    async def take(watch):
        results.append((watch, await agent.take_turn(turn(None), watch)))

    async with anyio.create_task_group() as group:
        group.start_soon(take, watch)
        group.start_soon(take, other)
        await until(lambda: watch.lives and other.lives)
        watch.say("zebra")

    assert {id(who): result.text for who, result in results} == {
        id(watch): "zebra",
        id(other): SLOWLY.whole,
    }


@pytest.mark.parametrize(("scenario", "told"), [("refuses", []), ("takes_late", ["zebra"])])
async def test_b20_only_what_it_has_taken_counts_as_told(peer, place, scenario, told):
    """B20: rejected messages are left for the next prompt; accepted ones count even after the end."""
    watch = RecordingWatch()
    watch.say("zebra")

    result = await peer(scenario).take_turn(turn(place), watch)

    assert isinstance(result, TurnDone), result
    assert watch.delivered == told


async def test_k2_a_turn_that_is_cancelled_while_it_is_told_something_ends(stage, place):
    agent = await stage.agent_that(run("echo begun; sleep 60"))
    watch = RecordingWatch()
    async with anyio.create_task_group() as group:
        group.start_soon(agent.take_turn, turn(place), watch)
        await until(lambda: watch.lives)
        watch.say(*["zebra"] * 50)
        await until(lambda: watch.delivered)
        group.cancel_scope.cancel()

    assert set(watch.delivered) == {"zebra"}
