"""R4, R5, K5: the requests that a provider receives."""

import pytest

from allstop.core.moves import FailureKind, TurnDone
from allstop.core.prompt import CacheLifetime
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Fault, Protocol, model_server
from support.api_agents import ANTHROPIC, ENVELOPE, KEY, OLLAMA, OPENAI, turn_with_talk


async def sent(connector, *turns, answers=("zebra",), **more):
    """The bodies of the requests."""
    async with model_server(list(answers)) as server:
        agent = connector.at(server, **more)
        for each in turns:
            await agent.take_turn(each, RecordingWatch())
        await agent.close()
    return server.requests


async def test_r4_the_system_and_the_parts_arrive_in_order(connector):
    """R4: the system text separately, the parts as blocks of one message."""
    (asked,) = await sent(connector, turn_with_talk("The goal.", "Said before.", "Round 3 of 6"))

    assert asked.protocol is connector.protocol
    assert asked.model == connector.model
    assert asked.system == "You are gpt."
    assert asked.blocks == ("The goal.", "Said before.", "Round 3 of 6")


async def test_k9_a_prompt_without_parts_is_one_message(connector):
    """K9: as `agents test` sends it."""
    (asked,) = await sent(connector, turn(None, "say hello"))

    assert (asked.system, asked.blocks) == ("", ("say hello",))


async def test_k11_the_key_goes_where_it_belongs(connector):
    """K11: in one header, and nowhere else."""
    (asked,) = await sent(connector, turn(None))

    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str({**asked.headers, "authorization": ""}) + str(asked.body)


async def test_k9_servers_that_are_like_anthropic_know_an_older_header():
    """K9: Anthropic itself doesn't get this header."""
    (asked,) = await sent(ANTHROPIC, turn(None), is_vendors=False)

    assert asked.headers["x-api-key"] == KEY


async def test_r17_nothing_is_tried_again_here(connector):
    """R17: the drive decides about retries, records them and can stop them."""
    assert len(await sent(connector, turn(None), answers=[Fault.OVERLOADED, "zebra"])) == 1


async def test_r5_anthropic_is_told_what_will_be_the_same_next_time():
    """R5: breakpoints after the system text and the last three kept parts."""
    parts = ("*one", "two", "*three", "*four", "*five", "six")

    (asked,) = await sent(ANTHROPIC, turn_with_talk(*parts, lifetime=CacheLifetime.HOUR))

    mark = {"type": "ephemeral", "ttl": "1h"}
    (message,) = asked.body["messages"]
    assert asked.body["system"][0]["cache_control"] == mark
    assert [block.get("cache_control") for block in message["content"]] == [
        None,
        None,
        mark,
        mark,
        mark,
        None,
    ]


@pytest.mark.parametrize("lifetime", [CacheLifetime.MINUTES, CacheLifetime.HOUR])
async def test_r5_the_lifetime_is_passed_on(lifetime):
    """R5: five minutes, or an hour."""
    (asked,) = await sent(ANTHROPIC, turn_with_talk("*one", system="", lifetime=lifetime))

    assert "system" not in asked.body
    assert asked.body["messages"][0]["content"][0]["cache_control"]["ttl"] == lifetime.value


async def test_r5_where_it_would_not_pay_nothing_is_marked(connector):
    """R5: lifetime none."""
    (asked,) = await sent(connector, turn_with_talk("*one", "*two"))

    assert "cache_control" not in str(asked.body)
    assert "prompt_cache_breakpoint" not in str(asked.body)


async def test_r5_newer_openai_models_are_given_marks():
    """R5: explicit breakpoints only, so that nothing else is cached and charged."""
    (asked,) = await sent(OPENAI, turn_with_talk("*one", "two", lifetime=CacheLifetime.MINUTES))

    mark = {"mode": "explicit"}
    system, said = asked.body["input"]
    assert asked.body["prompt_cache_options"] == mark
    assert system["role"] == "developer"
    assert [b.get("prompt_cache_breakpoint") for b in system["content"]] == [mark]
    assert [b.get("prompt_cache_breakpoint") for b in said["content"]] == [mark, None]


async def test_r5_without_marks_newer_openai_models_are_charged_for_no_cache():
    """R5: explicit mode without a breakpoint."""
    (asked,) = await sent(OPENAI, turn_with_talk("*one"))

    assert asked.body["prompt_cache_options"] == {"mode": "explicit"}


@pytest.mark.parametrize(
    "endpoint", [{"model": "gpt-5.5"}, {"model": "gpt-4.1"}, {"is_vendors": False}], ids=str
)
async def test_r5_others_remember_by_themselves(endpoint):
    """R5: older models, and servers that are only compatible."""
    lasting = turn_with_talk("*one", lifetime=CacheLifetime.MINUTES)

    (asked,) = await sent(OPENAI, lasting, **endpoint)

    assert asked.body["instructions"] == "You are gpt."
    assert "prompt_cache_options" not in asked.body
    assert "prompt_cache_breakpoint" not in str(asked.body)


async def test_r5_the_calls_of_one_agent_in_one_room_meet_the_same_cache():
    """R5: one key for each run and agent."""
    turns = [turn_with_talk("one"), turn_with_talk("two"), turn_with_talk("one", run="room-2")]

    first, second, elsewhere = await sent(OPENAI, *turns)
    (other,) = await sent(OPENAI, turn_with_talk("one"), name="claude")

    keys = [asked.body["prompt_cache_key"] for asked in (first, second, elsewhere, other)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert all(len(key) <= 64 for key in keys)


async def test_openai_is_asked_to_keep_nothing():
    (asked,) = await sent(OPENAI, turn(None))

    assert asked.body["store"] is False


MOST = {
    Protocol.RESPONSES: "max_output_tokens",
    Protocol.CHAT: "max_tokens",
    Protocol.MESSAGES: "max_tokens",
}


async def test_k5_a_turn_may_not_take_more_than_its_tokens(connector):
    """K5: the reply gets the tokens that the prompt can't use."""
    (asked,) = await sent(connector, turn_with_talk("x" * 3000, max_tokens=2000, system=""))

    assert asked.body[MOST[connector.protocol]] == 2000 - 1000 - 64


async def test_k5_a_prompt_that_leaves_nothing_is_not_sent(connector):
    """K5: no call at all."""
    async with model_server(["zebra"]) as server:
        agent = connector.at(server)
        result = await agent.take_turn(
            turn_with_talk("x" * 3000, max_tokens=1000), RecordingWatch()
        )
        await agent.close()

    assert result.kind is FailureKind.BAD_REQUEST
    assert server.requests == []


async def test_r1_the_words_are_shown_and_the_envelope_is_returned(connector):
    """R1, R19: the message of a JSON reply is shown live as text."""
    reply = '{"message": "Hello \\"zebra\\"", "final": true}'
    watch = RecordingWatch()
    async with model_server([reply]) as server:
        agent = connector.at(server)
        result = await agent.take_turn(turn_with_talk("hi", schema=ENVELOPE), watch)
        await agent.close()

    assert isinstance(result, TurnDone)
    assert result.text == reply
    assert "".join(live.text for live in watch.lives) == 'Hello "zebra"'
    assert len(watch.lives) > 1


async def test_k12_a_prompt_with_half_a_character_is_sent(connector):
    """K12: a replacement character takes its place."""
    (asked,) = await sent(connector, turn_with_talk("a\ud800b", system="\udfff"))

    assert (asked.system, asked.blocks) == ("?", ("a?b",))


async def test_k9_ollama_needs_no_key():
    """K9: any server that has chat completions."""
    (asked,) = await sent(OLLAMA, turn(None), key="none")

    assert asked.headers["authorization"] == "Bearer none"
