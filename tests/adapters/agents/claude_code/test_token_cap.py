"""K5: a turn of Claude Code ends at its token cap."""

from adapters.agents.claude_code.launch_claude import bash
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.ports import TokenCap
from allstop.testing.agent_contract import RecordingWatch
from allstop.testing.model_server import Say


def spends(command="true", tokens=100):
    return Say(text="more", calls=bash(command).calls, input=tokens, output=10)


async def test_k5_a_turn_is_ended_after_the_call_that_comes_to_the_cap(bench):
    """K5: exceeded by one call at most; the usage is reported, and the conversation can be resumed."""
    agent = await bench.agent([spends()] * 3 + [spends("sleep 60"), Say(text="on", input=7)])
    watch = RecordingWatch(allows=True)

    result = await bench.turn(agent, watch, max_tokens=400)
    again = await bench.turn(agent, thread=watch.threads[0])

    assert agent.abilities.token_cap is TokenCap.AFTER
    assert isinstance(result, Failed), result
    assert result.kind is FailureKind.CAPPED
    assert result.message == "the turn used all of its 400 tokens"
    assert (result.usage.input, result.usage.output) == (400, 40)
    assert isinstance(again, TurnDone), again
    assert again.text == "on"


async def test_k5_a_turn_whose_last_call_comes_to_the_cap_is_done(bench):
    """K5: ending it early would save nothing and lose its reply."""
    agent = await bench.agent([spends(), Say(text="done", input=500, output=1)])

    result = await bench.turn(agent, max_tokens=400)

    assert isinstance(result, TurnDone), result
    assert result.text == "done"
    assert result.usage.tokens == Usage(input=600, output=11).tokens


async def test_k5_one_reply_cannot_pass_the_cap(bench):
    """K5: the program's own cap on a reply is used."""
    agent = await bench.agent(["done"])

    await bench.turn(agent, max_tokens=5000)
    await bench.turn(agent)

    caps = [asked.body["max_tokens"] for asked in bench.server.requests]
    assert caps[0] == 5000
    assert caps[-1] > 5000
