"""R1: structured replies, in each provider's schema dialect."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.adapters.agents.api.json_schemas import close_objects, require_all, without_nulls
from allstop.core.moves import FailureKind, TurnDone
from allstop.testing.agent_contract import RecordingWatch
from allstop.testing.model_server import Fault, Protocol, Say, envelope, model_server
from support.api_agents import ANTHROPIC, ENVELOPE, OLLAMA, OPENAI, turn_with_talk

ASK = turn_with_talk("hi", schema=ENVELOPE)


async def turns(connector, answers, count=1, speaks=frozenset(Protocol), **more):
    async with model_server(answers, speaks=speaks) as server:
        agent = connector.at(server, **more)
        results = [await agent.take_turn(ASK, RecordingWatch()) for _ in range(count)]
        await agent.close()
    return results, server.requests


def test_r1_strict_means_all_required_and_the_optional_nullable():
    """R1: OpenAI's dialect."""
    made = require_all(ENVELOPE)

    assert made["required"] == ["message", "handoff", "final"]
    assert made["additionalProperties"] is False
    assert made["properties"]["message"] == {"type": "string"}
    assert made["properties"]["final"] == {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
    handoff, nothing = made["properties"]["handoff"]["anyOf"]
    assert nothing == {"type": "null"}
    assert handoff["required"] == ["to", "task"]
    assert handoff["properties"]["task"] == {"type": "string"}


def test_r1_closed_leaves_out_what_is_not_enforced():
    """R1: Anthropic's dialect: optional stays optional."""
    made = close_objects(ENVELOPE)

    assert made["required"] == ["message"]
    assert made["properties"]["message"] == {"type": "string"}
    assert made["properties"]["handoff"]["additionalProperties"] is False


def test_r1_references_are_followed():
    """R1: as msgspec writes schemas."""
    schema = {
        "$ref": "#/$defs/Envelope",
        "$defs": {
            "Envelope": {
                "type": "object",
                "properties": {
                    "message": {"type": "string"},
                    "handoff": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Handoff"}]},
                },
                "required": ["message"],
            },
            "Handoff": {
                "type": "object",
                "properties": {"to": {"type": "string"}, "note": {"type": "string"}},
                "required": ["to"],
            },
        },
    }

    made = require_all(schema)["$defs"]["Envelope"]

    assert made["required"] == ["message", "handoff"]
    assert made["properties"]["handoff"] == schema["$defs"]["Envelope"]["properties"]["handoff"]
    reply = json.dumps({"message": "m", "handoff": {"to": "gpt", "note": None}})
    assert json.loads(without_nulls(reply, schema)) == {"message": "m", "handoff": {"to": "gpt"}}
    reply = json.dumps({"message": "m", "handoff": None})
    assert json.loads(without_nulls(reply, schema)) == {"message": "m"}


handoffs = st.fixed_dictionaries({"to": st.sampled_from(["gpt", "claude"]), "task": st.text()})
replies = st.fixed_dictionaries(
    {"message": st.text()}, optional={"handoff": handoffs, "final": st.booleans()}
)


@given(replies)
def test_r1_a_strict_reply_comes_back_plain(reply):
    """R1: nulls for missing properties are removed."""
    written = json.dumps({"handoff": None, "final": None} | reply)

    assert json.loads(without_nulls(written, ENVELOPE)) == reply


@pytest.mark.parametrize(
    "text", ["no JSON", "[" * 100_000, "[null]", '"x"', '{"message": null, "other": null}']
)
def test_r1_what_does_not_fit_stays_as_it_is(text):
    """R1: the room judges it."""
    assert without_nulls(text, ENVELOPE) == text


async def test_r1_each_provider_is_asked_in_its_own_way(connector):
    """R1: Structured Outputs, a response format, an output format."""
    _, (asked,) = await turns(connector, [envelope("hi")])

    match connector.protocol:
        case Protocol.RESPONSES:
            shape = asked.body["text"]["format"]
            assert (shape["type"], shape["strict"]) == ("json_schema", True)
            assert shape["schema"] == require_all(ENVELOPE)
        case Protocol.CHAT:
            shape = asked.body["response_format"]
            assert shape["type"] == "json_schema"
            assert shape["json_schema"]["schema"] == require_all(ENVELOPE)
        case Protocol.MESSAGES:
            shape = asked.body["output_config"]["format"]
            assert shape == {"type": "json_schema", "schema": close_objects(ENVELOPE)}


async def test_r1_nulls_of_the_strict_dialect_are_not_returned(connector):
    """R1: the returned text is the plain envelope."""
    reply = envelope("hi", handoff=None, final=None)

    (result,), _ = await turns(connector, [reply])

    assert json.loads(result.text) == {"message": "hi"}


@pytest.mark.parametrize(("connector", "tries"), [(OPENAI, 2), (OLLAMA, 2), (ANTHROPIC, 3)])
async def test_r1_a_server_without_it_is_asked_in_words_from_then_on(connector, tries):
    """R1: otherwise by instruction; the rejected variant is not tried again."""
    said = Say(text=envelope("hi"), fault=Fault.NO_STRUCTURE)

    results, asked = await turns(connector, [said], count=3)

    assert [json.loads(result.text) for result in results] == [{"message": "hi"}] * 3
    assert len(asked) == tries + 2
    assert [each.wants_structure for each in asked[tries - 1 :]] == [False] * 3
    assert json.dumps(ENVELOPE) in asked[-1].system
    assert json.dumps(ENVELOPE) not in asked[0].system


async def test_r1_an_older_claude_is_made_to_use_a_tool():
    """R1: the one tool, whose input is the reply."""

    def answer(asked):
        fault = Fault.NO_STRUCTURE if "output_config" in asked.body else None
        return Say(text=envelope("hi", final=True), fault=fault)

    (result, again), asked = await turns(ANTHROPIC, answer, count=2)

    assert json.loads(result.text) == {"message": "hi", "final": True}
    assert (again.text, again.usage) == (result.text, result.usage)
    assert len(asked) == 3
    assert asked[1].body["tool_choice"] == {"type": "tool", "name": "reply"}
    assert asked[1].body["tools"][0]["input_schema"] == close_objects(ENVELOPE)


async def test_k9_a_compatible_server_that_has_only_chat_is_used_so():
    """K9: detected once."""
    only = frozenset({Protocol.CHAT})

    results, asked = await turns(OPENAI, [envelope("hi")], count=2, speaks=only, is_vendors=False)

    assert all(isinstance(result, TurnDone) for result in results)
    assert [each.protocol for each in asked] == [Protocol.CHAT] * 2
    assert "response_format" in asked[0].body


async def test_k9_a_model_that_is_not_there_is_no_reason_to_ask_otherwise():
    """K9, R17: a 404 for the model, not for the URL."""
    (result,), asked = await turns(OPENAI, [Fault.NO_MODEL], is_vendors=False)

    assert result.kind is FailureKind.BAD_REQUEST
    assert len(asked) == 1


async def test_k9_openai_itself_is_never_asked_by_chat():
    """K9: a 404 from there is a failure."""
    (result,), asked = await turns(OPENAI, ["zebra"], speaks=frozenset({Protocol.CHAT}))

    assert result.kind is FailureKind.BAD_REQUEST
    assert asked == []
