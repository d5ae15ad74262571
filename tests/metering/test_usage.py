"""G5, G7: usage is read from the provider's own fields, in the shapes that providers send."""

import json

from hypothesis import given
from hypothesis import strategies as st

from allstop.metering.call_reservation import HIDDEN_TOKENS, Reservation, usage_of
from allstop.metering.request_body import ModelCall
from allstop.metering.usage import CallUsage, Reported, UsageReader
from allstop.metering.wire_formats import WireFormat
from support.cases import for_each

RESPONSES, CHAT = WireFormat.RESPONSES, WireFormat.CHAT
MESSAGES, GEMINI = WireFormat.MESSAGES, WireFormat.GEMINI


def stream(wire, *events):
    reader = UsageReader(wire)
    for event in events:
        reader.event(event if isinstance(event, bytes) else json.dumps(event).encode())
    return reader


def call(wire=RESPONSES, size=9000, **more):
    return ModelCall(wire=wire, model="m", is_stream=True, wanted=None, size=size, body={}, **more)


def test_g7_a_stream_of_openais_responses():
    reader = stream(
        RESPONSES,
        {"type": "response.created", "response": {"model": "gpt-9", "status": "in_progress"}},
        {"type": "response.output_text.delta", "delta": "Hello"},
        {"type": "response.function_call_arguments.delta", "delta": '{"a":1}'},
        {
            "type": "response.completed",
            "response": {
                "model": "gpt-9-2026",
                "status": "completed",
                "usage": {
                    "input_tokens": 2000,
                    "input_tokens_details": {"cached_tokens": 1400},
                    "output_tokens": 60,
                    "output_tokens_details": {"reasoning_tokens": 40},
                },
            },
        },
    )

    assert reader.reported == Reported(input=2000, cached=1400, output=60, reasoning=40)
    assert (reader.model, reader.chars, reader.is_complete) == ("gpt-9-2026", 12, True)
    assert not reader.was_cut


def test_g5_a_response_that_ended_at_its_cap_is_noticed():
    response = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "usage": {"input_tokens": 10, "output_tokens": 16},
    }
    reader = stream(RESPONSES, {"type": "response.incomplete", "response": response})

    assert reader.was_cut
    assert reader.reported == Reported(input=10, output=16)


def test_g7_the_last_usage_of_a_chat_counts_and_not_the_sum():
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 33,
        "prompt_tokens_details": {"cached_tokens": 500},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    reader = stream(
        CHAT,
        {"model": "q", "choices": [{"delta": {"role": "assistant", "content": "Hi"}}]},
        {"choices": [{"delta": {}, "finish_reason": "length"}], "usage": usage},
        {"choices": [], "usage": {**usage, "completion_tokens": 34}},
        b"[DONE]",
    )

    assert reader.reported == Reported(input=1000, cached=500, output=34, reasoning=3)
    assert (reader.chars, reader.was_cut, reader.is_complete) == (2, True, True)


def test_g7_the_input_of_anthropic_leaves_out_the_cache():
    start = {"input_tokens": 20, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 80}
    lifetimes = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 80}
    usage = {**start, "cache_creation": lifetimes, "output_tokens": 1}
    reader = stream(
        MESSAGES,
        {"type": "message_start", "message": {"model": "claude-9", "usage": usage}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hello"}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "max_tokens"},
            "usage": {"output_tokens": 41, "input_tokens": None},
        },
        {"type": "message_stop"},
    )

    assert reader.reported == Reported(input=1000, cached=900, written=80, output=41, for_hour=True)
    assert (reader.model, reader.chars, reader.was_cut) == ("claude-9", 5, True)


def test_g7_gemini_counts_thoughts_and_tool_results_apart():
    first = {"promptTokenCount": 700, "totalTokenCount": 700}
    last = {
        "promptTokenCount": 700,
        "toolUsePromptTokenCount": 50,
        "cachedContentTokenCount": 600,
        "candidatesTokenCount": 30,
        "thoughtsTokenCount": 12,
    }
    reader = stream(
        GEMINI,
        {"candidates": [{"content": {"parts": [{"text": "Hey"}]}}], "usageMetadata": first},
        {
            "candidates": [{"finishReason": "MAX_TOKENS"}],
            "usageMetadata": last,
            "modelVersion": "gemini-9",
        },
    )

    assert reader.reported == Reported(input=750, cached=600, output=42, reasoning=12)
    assert (reader.model, reader.chars, reader.was_cut) == ("gemini-9", 3, True)


@for_each(
    ("wire", "reply"),
    [
        (
            RESPONSES,
            {
                "status": "completed",
                "model": "m",
                "output": [{"type": "message", "content": [{"type": "t", "text": "abc"}]}],
                "usage": {"input_tokens": 5, "output_tokens": 2},
            },
        ),
        (
            CHAT,
            {
                "model": "m",
                "choices": [{"message": {"role": "assistant", "content": "abc"}}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 2},
            },
        ),
        (
            MESSAGES,
            {
                "model": "m",
                "content": [{"type": "text", "text": "abc"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 5, "output_tokens": 2},
            },
        ),
        (
            GEMINI,
            [
                {"candidates": [{"content": {"role": "model", "parts": [{"text": "abc"}]}}]},
                {
                    "modelVersion": "m",
                    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2},
                },
            ],
        ),
    ],
)
def test_g7_a_reply_without_a_stream(wire, reply):
    reader = UsageReader(wire)
    reader.whole(json.dumps(reply).encode())

    assert (reader.reported.input, reader.reported.output) == (5, 2)
    assert (reader.model, reader.chars, reader.is_complete) == ("m", 3, True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "usage",
                    "response",
                    "message",
                    "delta",
                    "choices",
                    "candidates",
                    "input_tokens",
                    "output_tokens",
                    "prompt_tokens",
                    "usageMetadata",
                    "content",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(WireFormat), st.lists(JSON, max_size=4), st.binary(max_size=20))
def test_g5_no_reply_breaks_the_reader(wire, events, raw):
    reader = stream(wire, *events, raw)
    reader.whole(raw)
    reserved = Reservation(input=3000, output=100)

    used = usage_of(reader.reported, reserved, call(wire), reader.chars)

    assert 0 < used.input <= 14_000
    assert 0 <= used.output <= 100
    assert used.cached + used.written <= used.input
    assert used.reasoning <= used.output


@for_each(
    ("reported", "chars", "expected"),
    [
        (Reported(input=2000, output=50), 10, CallUsage(input=2000, output=50)),
        (Reported(), 30, CallUsage(input=3000, output=10)),
        (Reported(input=2000), 30, CallUsage(input=2000, output=10)),
        (Reported(input=0, output=0), 30, CallUsage(input=3000, output=10)),
        (Reported(input=10**8, output=10**8), 0, CallUsage(input=3000, output=100)),
        (Reported(input=10, cached=50, output=1), 0, CallUsage(input=10, cached=10, output=1)),
    ],
)
def test_g5_missing_and_absurd_usage_is_estimated(reported, chars, expected):
    assert usage_of(reported, Reservation(input=3000, output=100), call(), chars) == expected


def test_g5_content_that_is_not_in_the_body_may_cost_more_than_the_body_has_bytes():
    reserved, reported = Reservation(input=400, output=100), Reported(input=6000, output=1)

    assert usage_of(reported, reserved, call(size=90, has_references=True), 0).input == 6000
    assert usage_of(reported, reserved, call(size=90, has_hosted_tools=True), 0).input == 6000
    assert usage_of(reported, reserved, call(size=90), 0).input == 400


def test_g5_an_agent_that_leaves_before_the_report_pays_for_the_most_that_it_can_have_used():
    """G5: so that nothing gets cheaper by being cut off; what was reported counts."""
    reserved = Reservation(input=3000, output=100)
    left = [
        usage_of(each, reserved, call(size=9000), 30, has_left=True)
        for each in (Reported(), Reported(input=2000, output=50))
    ]

    assert left == [
        CallUsage(input=9000 + HIDDEN_TOKENS, output=30),
        CallUsage(input=2000, output=50),
    ]
