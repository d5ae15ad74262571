"""K10, B20: what Claude Code is told while it is at work."""

import anyio

from adapters.agents.claude_code.launch_claude import bash, replies
from allstop.adapters.agents.claude_code import Leave
from allstop.core.moves import Failed, FailureKind, TurnDone
from allstop.testing.agent_contract import Onlooker
from allstop.testing.model_server import Say

SLOWLY = Say(pieces=("begun", *("…",) * 20), pause_s=0.05)


async def spoken_to(bench, agent, *words, **fields):
    """A turn in which somebody says this once something of it can be seen."""
    watch, results = Onlooker(), []

    async def take():
        results.append(await bench.turn(agent, watch, **fields))

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        with anyio.fail_after(60):
            await watch.stirred.wait()
        watch.say(*words)
    return watch, results[0]


async def test_b20_between_two_calls_of_its_model_it_takes_up_what_was_said(bench):
    """B20: within the turn, not after it."""
    answers = [bash("for i in 1 2 3 4 5; do sleep 0.2; done"), Say(text="heard", input=7)]
    agent = await bench.agent(answers, leave=Leave.ALL)

    watch, result = await spoken_to(bench, agent, "zebra")

    assert (watch.told, result.text, result.usage.input) == (["zebra"], "heard", 107)
    assert "zebra" in str(bench.server.requests[1].body["messages"])
    assert len(bench.server.requests) == 2


async def test_b20_what_comes_with_its_last_words_is_taken_up_after_them(bench):
    """B20: it is still the same turn, with all that it used, and each word is said once."""
    agent = await bench.agent(lambda asked: f"heard {replies(asked)}" if replies(asked) else SLOWLY)

    watch, result = await spoken_to(bench, agent, "zebra", "horse")

    said = str(bench.server.requests[-1].body["messages"])
    assert watch.told == ["zebra", "horse"]
    assert (said.count("zebra"), said.count("horse")) == (1, 1)
    assert result.text.startswith("heard")
    assert result.usage.input == 100 * len(bench.server.requests)


async def test_b20_a_command_of_its_own_is_not_what_a_person_says(bench):
    """B20: words that begin with a slash are words."""
    agent = await bench.agent(lambda asked: "heard" if replies(asked) else SLOWLY)

    watch, result = await spoken_to(bench, agent, "/clear")

    assert (watch.told, result.text) == (["/clear"], "heard")


async def test_k5_a_turn_that_has_used_its_tokens_is_ended_although_words_wait(bench):
    """K5, B20: they are left for the next turn, which may use tokens again."""
    agent = await bench.agent([Say(pieces=SLOWLY.pieces, pause_s=0.05, input=500), "no"])

    watch, result = await spoken_to(bench, agent, "zebra", max_tokens=400)

    assert watch.told == []
    assert isinstance(result, Failed), result
    assert result.kind is FailureKind.CAPPED


async def test_b20_one_that_does_not_tell_what_becomes_of_words_is_not_told_any(bench):
    """B20: an older program; nobody could say whether it has heard them."""
    done = '{"type":"result","subtype":"success","result":"done"}'
    path = bench.stand_in(f"read line; sleep 0.3; echo '{done}'; cat >/dev/null")
    watch = Onlooker()
    watch.say("zebra")

    result = await bench.turn(bench.agent_at(path), watch)

    assert isinstance(result, TurnDone), result
    assert watch.told == []
