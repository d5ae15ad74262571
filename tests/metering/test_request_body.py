"""G5: the gateway reads the output cap of a call, and writes a lower one."""

import json

import pytest

from allstop.metering.model_routes import Route
from allstop.metering.request_body import (
    MAX_BODY_BYTES,
    MAX_VALUES,
    BodyError,
    read_call,
    write_body,
)
from allstop.metering.wire_formats import WireFormat
from support.cases import for_each

RESPONSES, CHAT = WireFormat.RESPONSES, WireFormat.CHAT
MESSAGES, GEMINI = WireFormat.MESSAGES, WireFormat.GEMINI


def read(wire, body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    model = "g-1" if wire is GEMINI else ""
    return read_call(Route(path="/x", wire=wire, model=model), data)


def written(wire, body, cap, **more):
    body = {"model": "m", **body} if wire is not GEMINI else body
    return json.loads(write_body(read(wire, body), cap, **more))


@for_each(
    ("wire", "body", "wanted"),
    [
        (RESPONSES, {}, None),
        (RESPONSES, {"max_output_tokens": 500}, 500),
        (CHAT, {"max_tokens": 32000}, 32000),
        (CHAT, {"max_completion_tokens": 70, "max_tokens": 60}, 60),
        (CHAT, {"max_tokens": -1}, None),
        (CHAT, {"max_tokens": 4096.0}, 4096),
        (CHAT, {"max_tokens": 10**30}, 10**9),
        (MESSAGES, {"max_tokens": 128000}, 128000),
        (GEMINI, {"generationConfig": {"maxOutputTokens": 9}}, 9),
        (GEMINI, {}, None),
    ],
)
def test_g5_the_cap_that_a_client_sends_is_read(wire, body, wanted):
    assert read(wire, {"model": "m", **body}).wanted == wanted


@for_each(
    ("wire", "body", "expected"),
    [
        (RESPONSES, {}, {"max_output_tokens": 100}),
        (RESPONSES, {"max_output_tokens": 500}, {"max_output_tokens": 100}),
        (CHAT, {}, {"max_completion_tokens": 100}),
        (CHAT, {"max_tokens": 500}, {"max_tokens": 100}),
        (
            CHAT,
            {"max_tokens": 500, "max_completion_tokens": 500},
            {"max_tokens": 100, "max_completion_tokens": 100},
        ),
        (
            CHAT,
            {"stream": True, "max_tokens": 1},
            {"stream": True, "max_tokens": 100, "stream_options": {"include_usage": True}},
        ),
        (MESSAGES, {"max_tokens": 500}, {"max_tokens": 100}),
        (
            MESSAGES,
            {"max_tokens": 500, "thinking": {"type": "adaptive"}},
            {"max_tokens": 100, "thinking": {"type": "adaptive"}},
        ),
        (
            MESSAGES,
            {"max_tokens": 5000, "thinking": {"type": "enabled", "budget_tokens": 4000}},
            {"max_tokens": 100},
        ),
    ],
)
def test_g5_the_cap_is_lowered_or_added(wire, body, expected):
    assert written(wire, body, 100) == {"model": "m", **expected}


def test_g5_a_thinking_budget_stays_below_the_cap():
    thinking = {"type": "enabled", "budget_tokens": 9000}
    body = written(MESSAGES, {"max_tokens": 10000, "thinking": thinking}, 3000)

    assert body["thinking"] == {"type": "enabled", "budget_tokens": 1500}


def test_g5_the_cap_of_gemini_stands_in_its_settings():
    body = {"generationConfig": {"topK": 3, "thinkingConfig": {"thinkingBudget": 8192}}}

    assert written(GEMINI, body, 100)["generationConfig"] == {
        "topK": 3,
        "maxOutputTokens": 100,
        "thinkingConfig": {"thinkingBudget": 100},
    }


def test_g5_a_compatible_server_gets_the_cap_that_it_knows():
    assert written(CHAT, {}, 100, is_vendors=False)["max_tokens"] == 100


def test_g5_without_a_budget_only_usage_is_asked_for():
    body = {"stream": True, "stream_options": {"x": 1}}
    asked = written(CHAT, body, None)

    assert asked == {
        "model": "m",
        "stream": True,
        "stream_options": {"x": 1, "include_usage": True},
    }
    assert written(MESSAGES, {"max_tokens": 7}, None) == {"model": "m", "max_tokens": 7}


def test_the_rest_of_a_body_is_passed_on_as_it_is():
    body = {"input": [{"text": "naïve \U0001f600 \ud800"}], "tools": [], "stream": False}

    assert written(RESPONSES, body, None) == {"model": "m", **body}


@for_each(
    ("body", "why"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"model": "m", "max_tokens": NaN}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[" + b"1," * MAX_VALUES + b"1]", "too many values"),
        (b" " * (MAX_BODY_BYTES + 1), "larger than"),
        ({"messages": []}, "names no model"),
        ({"model": 3}, "names no model"),
        ({"model": "m", "max_tokens": "500"}, "not a whole number"),
        ({"model": "m", "max_tokens": True}, "not a whole number"),
        ({"model": "m", "max_tokens": 1.5}, "not a whole number"),
        ({"model": "m", "stream": "yes"}, "neither true nor false"),
        ({"model": "m", "stream": 1}, "neither true nor false"),
        ({"model": "m", "Max_Tokens": 9}, "must be written max_tokens"),
        ({"model": "m", "maxTokens": 9}, "must be written max_tokens"),
        ({"model": "m", "N": 2}, "must be written n"),
        ({"model": "m", "Stream": True}, "must be written stream"),
        ({"model": "m", "n": 2}, "several replies"),
        ({"model": "m", "background": True}, "in the background"),
    ],
)
def test_g5_a_body_that_can_not_be_metered_is_refused(body, why):
    with pytest.raises(BodyError, match=why):
        read(CHAT, body)


@for_each(
    ("wire", "body", "expected"),
    [
        (RESPONSES, {}, False),
        (RESPONSES, {"tools": [{"type": "function"}, {"type": "custom"}, "x"]}, False),
        (RESPONSES, {"tools": [{"type": "function"}, {"type": "web_search"}]}, True),
        (RESPONSES, {"tools": [{"type": {}}]}, True),
        (CHAT, {"web_search_options": {}}, True),
        (MESSAGES, {"tools": [{"name": "Bash", "input_schema": {}}]}, False),
        (MESSAGES, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, True),
        (GEMINI, {"tools": [{"functionDeclarations": []}, {"function_declarations": []}]}, False),
        (GEMINI, {"tools": [{"googleSearch": {}}]}, True),
    ],
)
def test_g5_tools_that_the_provider_runs_are_noticed(wire, body, expected):
    """G5: their results are input that isn't in the body."""
    assert read(wire, {"model": "m", **body}).has_hosted_tools is expected


@for_each(
    ("body", "dearer"),
    [
        ({}, ""),
        ({"service_tier": "auto", "speed": "standard", "inference_geo": None}, ""),
        ({"service_tier": "Flex"}, ""),
        ({"service_tier": "priority"}, 'service_tier = "priority"'),
        ({"serviceTier": "PRIORITY"}, 'serviceTier = "PRIORITY"'),
        ({"service_tier": {}}, "service_tier = {}"),
        ({"speed": "fast"}, 'speed = "fast"'),
        ({"inference_geo": "us"}, 'inference_geo = "us"'),
    ],
)
def test_g5_options_that_cost_more_than_the_listed_price_are_noticed(body, dearer):
    assert read(RESPONSES, {"model": "m", **body}).dearer == dearer


@for_each(
    "settings",
    [{"candidateCount": 2}, [], "x", {"maxOutputTokens": "1"}, {"max_output_tokens": 9}],
    ids=lambda each: each,
)
def test_g5_bad_settings_of_gemini_are_refused(settings):
    with pytest.raises(BodyError):
        read(GEMINI, {"generationConfig": settings or [1]})


@for_each("name", ["generation_config", "GenerationConfig", "generationconfig"])
def test_g5_settings_of_gemini_under_another_name_are_refused(name):
    """G5: its servers read both spellings, and a cap beside them would not count."""
    with pytest.raises(BodyError, match="must be written generationConfig"):
        read(GEMINI, {name: {"candidateCount": 8}})


@for_each("cap", [0, -1, -(10**9), -0.0])
def test_g5_a_cap_that_is_none_is_replaced(cap):
    """G5: a negative cap means "no limit" to some servers."""
    assert written(CHAT, {"max_tokens": cap, "max_completion_tokens": cap}, 50) == {
        "model": "m",
        "max_tokens": 50,
        "max_completion_tokens": 50,
    }


def test_g5_of_two_caps_the_smaller_one_counts_and_both_are_set():
    body = {"model": "m", "max_tokens": 500, "max_completion_tokens": 70}

    assert read(CHAT, body).wanted == 70
    assert written(CHAT, body, 60) == {"model": "m", "max_tokens": 60, "max_completion_tokens": 60}
