"""K5: a turn of codex ends at its token cap."""

from msgspec.structs import replace

from adapters.agents.codex.launch_codex import run
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.ports import TokenCap
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Say


def spends(command="true", tokens=100):
    return Say(calls=run(command).calls, input=tokens, output=0)


async def test_k5_a_turn_is_ended_after_the_call_that_comes_to_the_cap(stage, place):
    """K5: exceeded by one call at most; the usage is reported, and the conversation can be resumed."""
    server = await stage.model([spends()] * 3 + [spends("sleep 60"), Say(text="on", input=7)])
    agent = stage.agent(server)
    watch = RecordingWatch()

    result = await agent.take_turn(replace(turn(place), max_tokens=350), watch)

    assert agent.abilities.token_cap is TokenCap.AFTER
    assert result == Failed(
        kind=FailureKind.CAPPED,
        message="the turn used all of its 350 tokens",
        usage=Usage(input=400, model="gpt-5.5"),
    )
    assert [item.kind for item in watch.items].count("command") >= 3
    again = await agent.take_turn(turn(place, thread=watch.threads[0]), RecordingWatch())
    assert isinstance(again, TurnDone), again
    assert again.text == "on"


async def test_k5_a_turn_below_its_cap_is_not_touched(stage, place):
    agent = await stage.agent_that(spends(), spends(), Say(text="done", input=100, output=49))

    result = await agent.take_turn(replace(turn(place), max_tokens=350), RecordingWatch())

    assert isinstance(result, TurnDone), result
    assert result.usage.tokens == 349


async def test_k5_one_turn_of_a_shared_server_is_ended_and_no_other(stage):
    """K5: without a workspace all conversations have one server, which goes on."""
    server = await stage.model([spends("sleep 60", 1000), Say(text="on", input=7)])
    agent = stage.agent(server)
    watch = RecordingWatch()

    capped_turn = await agent.take_turn(replace(turn(None), max_tokens=500), watch)
    again = await agent.take_turn(turn(None, thread=watch.threads[0]), RecordingWatch())

    assert capped_turn.kind is FailureKind.CAPPED
    assert again.text == "on"
