"""R1 to R3: the envelope of agents' answers in a room."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.rooms.envelope import Envelope, Handoff, envelope_schema, read_envelope

AGENTS = ("gpt", "claude")


def test_r1_the_schema_is_the_documents():
    """R1: M1.1 §3, with the room's own agents."""
    assert envelope_schema(AGENTS) == {
        "type": "object",
        "properties": {
            "message": {"type": "string", "minLength": 1},
            "handoff": {
                "type": "object",
                "properties": {
                    "to": {"type": "string", "enum": ["gpt", "claude"]},
                    "task": {"type": "string", "minLength": 1, "maxLength": 500},
                },
                "required": ["to", "task"],
                "additionalProperties": False,
            },
            "final": {"type": "boolean"},
        },
        "required": ["message"],
        "additionalProperties": False,
    }
    assert set(envelope_schema(AGENTS)["properties"]) == set(Envelope.__struct_fields__)
    assert set(envelope_schema(())["properties"]) == {"message", "final"}


@pytest.mark.parametrize(
    ("text", "message", "handoff", "final"),
    [
        ('{"message": "hi"}', "hi", None, False),
        (' {"message": "hi", "final": true}\n', "hi", None, True),
        ('{"message": "hi", "handoff": null, "final": null}', "hi", None, False),
        (
            '{"message": "hi", "handoff": {"to": "gpt", "task": "edit"}}',
            "hi",
            Handoff(to="gpt", task="edit"),
            False,
        ),
    ],
)
def test_r1_an_envelope_is_read(text, message, handoff, final):
    reply = read_envelope(text)

    assert (reply.message, reply.handoff, reply.final) == (message, handoff, final)
    assert not reply.malformed
    assert not reply.repaired


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"message": "hi"}\n```',
        '```\n{"message": "hi"}\n```\n',
        'Here you are: {"message": "hi"}',
        '{"message": "hi"} I hope that helps {you}.',
        'I thought {about} it {"mood": "good"}: {"message": "hi"}',
    ],
)
def test_r2_the_only_envelope_in_a_text_is_taken_out(text):
    reply = read_envelope(text)

    assert reply.message == "hi"
    assert reply.repaired
    assert not reply.malformed


@pytest.mark.parametrize(
    "text",
    [
        "just words",
        "{",
        '{"message": ""}',
        '{"message": 5}',
        '{"message": "a", "mood": "good"}',
        '{"message": "a"} {"message": "b"}',
        '{"outer": {"message": "a"}}',
        '{"message": "a", "handoff": {"to": "gpt"}}',
        '{"message": "a", "handoff": {"to": "gpt", "task": ""}}',
        json.dumps({"message": "a", "handoff": {"to": "gpt", "task": "x" * 501}}),
        '["message"]',
        '{"a":' * 100_000,
        "{" * 100_000,
    ],
)
def test_r2_what_cannot_be_repaired_is_the_message(text):
    """R2: the whole text, no handoff, not final, and a reason for the warning."""
    reply = read_envelope(text)

    assert reply.message == text
    assert reply.handoff is None
    assert not reply.final
    assert reply.malformed


@given(st.text())
def test_r2_no_text_is_too_odd_to_read(text):
    reply = read_envelope(text)

    assert reply.message or not text.strip()


@given(
    message=st.text(min_size=1),
    task=st.text(min_size=1, max_size=500),
    before=st.text(alphabet="abc {}`\n"),
    after=st.text(alphabet="abc }`\n"),
)
def test_r2_an_envelope_survives_what_is_around_it(message, task, before, after):
    envelope = json.dumps({"message": message, "handoff": {"to": "gpt", "task": task}})

    reply = read_envelope(before[:40] + envelope + after)

    assert reply.message == message
    assert reply.handoff == Handoff(to="gpt", task=task)
