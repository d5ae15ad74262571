"""K10, B20: messages to Claude Code during a turn."""

import anyio

from adapters.agents.claude_code.launch_claude import bash, replies
from allstop.adapters.agents.claude_code import PermissionMode
from allstop.core.moves import Failed, FailureKind, TurnDone
from allstop.testing.agent_contract import RecordingWatch
from allstop.testing.model_server import Say

SLOWLY = Say(pieces=("begun", *("…",) * 20), pause_s=0.05)


async def spoken_to(bench, agent, *words, **fields):
    """Run a turn, and send these messages after its first output."""
    watch, results = RecordingWatch(), []

    async def take():
        results.append(await bench.turn(agent, watch, **fields))

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        with anyio.fail_after(60):
            await watch.live_seen.wait()
        watch.say(*words)
    return watch, results[0]


async def test_b20_a_message_is_taken_up_between_two_model_calls(bench):
    """B20: within the turn, not after it."""
    answers = [bash("for i in 1 2 3 4 5; do sleep 0.2; done"), Say(text="heard", input=7)]
    agent = await bench.agent(answers, permissions=PermissionMode.ALL)

    watch, result = await spoken_to(bench, agent, "zebra")

    assert (watch.delivered, result.text, result.usage.input) == (["zebra"], "heard", 107)
    assert "zebra" in str(bench.server.requests[1].body["messages"])
    assert len(bench.server.requests) == 2


async def test_b20_a_message_during_the_last_reply_is_taken_up_after_it(bench):
    """B20: within the same turn, with all usage, and each message is sent once."""
    agent = await bench.agent(lambda asked: f"heard {replies(asked)}" if replies(asked) else SLOWLY)

    watch, result = await spoken_to(bench, agent, "zebra", "horse")

    said = str(bench.server.requests[-1].body["messages"])
    assert watch.delivered == ["zebra", "horse"]
    assert (said.count("zebra"), said.count("horse")) == (1, 1)
    assert result.text.startswith("heard")
    assert result.usage.input == 100 * len(bench.server.requests)


async def test_b20_a_message_is_never_run_as_a_command(bench):
    """B20: a message that begins with a slash is text."""
    agent = await bench.agent(lambda asked: "heard" if replies(asked) else SLOWLY)

    watch, result = await spoken_to(bench, agent, "/clear")

    assert (watch.delivered, result.text) == (["/clear"], "heard")


async def test_k5_a_capped_turn_ends_although_messages_wait(bench):
    """K5, B20: the messages are left for the next turn."""
    agent = await bench.agent([Say(pieces=SLOWLY.pieces, pause_s=0.05, input=500), "no"])

    watch, result = await spoken_to(bench, agent, "zebra", max_tokens=400)

    assert watch.delivered == []
    assert isinstance(result, Failed), result
    assert result.kind is FailureKind.CAPPED


async def test_b20_a_program_that_confirms_no_messages_gets_none(bench):
    """B20: an older program doesn't confirm messages."""
    done = '{"type":"result","subtype":"success","result":"done"}'
    path = bench.stand_in(f"read line; sleep 0.3; echo '{done}'; cat >/dev/null")
    watch = RecordingWatch()
    watch.say("zebra")

    result = await bench.turn(bench.agent_at(path), watch)

    assert isinstance(result, TurnDone), result
    assert watch.delivered == []
