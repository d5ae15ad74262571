"""Validation errors of msgspec reach people as plain sentences with the allowed names."""

from typing import Any, Union

import msgspec
import pytest

from allstop.app.actions import Body
from allstop.app.kinds import RUN_KINDS
from allstop.app.validation_errors import (
    InvalidRequestError,
    convert_parameters,
    decode_body,
    sentence,
)
from allstop.server.routes import path_parameters
from allstop.server.routes.actions import SettingOrder
from allstop.server.routes.table import READ_ROUTES, WRITE_ROUTES, body_of

START = Union[*RUN_KINDS.requests()]


def _error(body: object, expected: object) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        decode_body(msgspec.json.encode(body), expected)
    return caught.value


@pytest.mark.parametrize(
    ("body", "expected", "message"),
    [
        ([], Body, "the body must be an object"),
        ({}, Body, "command is missing"),
        ({"command": 3}, Body, "command must be text"),
        ({"command": "say"}, Body, "text is missing"),
        ({"command": "say", "text": ""}, Body, "text is empty"),
        ({"command": "say", "text": "a" * 100_001}, Body, "text is longer than 100,000 characters"),
        ({"command": "answer", "texts": []}, Body, "texts is empty"),
        ({"command": "answer", "texts": ["a", 3]}, Body, "texts[1] must be text"),
        ({"command": "order", "tasks": "T1"}, Body, "tasks must be a list"),
        ({"command": "order", "tasks": ["T1"] * 1001}, Body, "tasks has more than 1,000 entries"),
        ({"command": "add_task", "title": "a", "priority": 1.5}, Body, "priority must be a whole number"),
        ({"command": "add_task", "title": "a", "minutes": "x"}, Body, "minutes must be a number"),
        ({"command": "edit_task", "changes": {"title": 3}}, Body, "changes.title must be text"),
        ({"command": "pin", "on": 1}, Body, "on must be true or false"),
        ({"command": "limit", "times": 1}, Body, "times must be more than 1"),
        ({"kind": "board", "parallel": 0}, START, "parallel must be at least 1"),
        ({"command": "comment", "remarks": [{"file": 1}]}, Body, "remarks[0].file must be text"),
        ({"kind": "board", "until": "x"}, START, "until must be a time such as 2030-01-31T18:00:00Z"),
        (
            {"key": "a", "digest": "", "value": None},
            SettingOrder,
            "value must be true or false, a whole number, a number, text, an object or a list",
        ),
    ],
)  # fmt: skip
def test_a_wrong_body_is_described(body, expected, message):
    error = _error(body, expected)

    assert (error.message, error.hint, error.code) == (message, "", "invalid")


@pytest.mark.parametrize(
    ("body", "expected", "message", "hint"),
    [
        ({"command": "mode", "mode": "x"}, Body, "mode can't be 'x'", "allowed: autopilot, semi"),
        ({"kind": "board", "mode": "x"}, START, "mode can't be 'x'", "allowed: autopilot, semi"),
        ({"command": "say", "text": "a", "x": 1}, Body, "x is unknown", "known fields: text"),
        ({"kind": "task", "x": 1}, START, "x is unknown", "known fields: prompt, agent"),
        ({"command": "say", "a` - at `$.text.x": 1}, Body, "text.x.a is unknown", ""),
    ],
)
def test_the_hint_lists_the_allowed_names(body, expected, message, hint):
    error = _error(body, expected)

    assert (error.message, error.hint) == (message, hint)


def test_an_unknown_command_is_told_the_known_ones():
    error = _error({"command": "nope"}, Body)

    assert error.message == "command can't be 'nope'"
    assert {"say", "pause", "add_task"} <= set(error.hint.removeprefix("allowed: ").split(", "))


@pytest.mark.parametrize(
    ("values", "expected", "message", "hint"),
    [
        ({"limit": "x"}, path_parameters.Runs, "limit must be a whole number", ""),
        ({"limit": "0"}, path_parameters.Runs, "limit must be at least 1", ""),
        ({"limit": "2000"}, path_parameters.Runs, "limit must be at most 1,000", ""),
        ({"open": "x"}, path_parameters.Runs, "open must be true or false", ""),
        ({"q": "1"}, path_parameters.Runs, "q is unknown", "known fields: kind, open, before, limit"),
        ({"by": "x"}, path_parameters.Usage, "by can't be 'x'", "allowed: agent, model, task, run, day, sprint"),
        ({"run": "a"}, path_parameters.Moment, "seq is missing", ""),
    ],
)  # fmt: skip
def test_wrong_parameters_are_described(values, expected, message, hint):
    with pytest.raises(InvalidRequestError) as caught:
        convert_parameters(values, expected)

    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize("text", ["Integer value out of range", "Timestamp is out of range "])
def test_a_value_out_of_range_is_described(text):
    assert sentence(f"{text} - at `$.priority`") == "priority is out of range"


def test_an_unforeseen_message_keeps_its_text():
    assert sentence("Something else - at `$.a`") == "a is invalid: Something else"


WRONG: tuple[Any, ...] = (None, True, -1, 10**30, 0.5, "", "x", "x" * 200_000, [], [None], ["x"] * 2000, {}, {"x": 1})  # fmt: skip


def _structs(kind):
    if isinstance(kind, msgspec.inspect.UnionType):
        return [each for each in kind.types if isinstance(each, msgspec.inspect.StructType)]
    return [kind]


BODIES = [body_of(route, RUN_KINDS) for route in WRITE_ROUTES]
QUERIES = [route.parameters for route in (*READ_ROUTES, *WRITE_ROUTES)]


@pytest.mark.parametrize("expected", [*BODIES, *QUERIES], ids=str)
def test_no_wrong_value_of_any_field_shows_the_words_of_msgspec(expected):
    for struct in _structs(msgspec.inspect.type_info(expected)):
        tag = {struct.tag_field: struct.tag} if struct.tag_field else {}
        for name in [*(field.encode_name for field in struct.fields), "unheard_of"]:
            for value in WRONG:
                message = _message({**tag, name: value}, expected)

                assert not [word for word in MSGSPEC_WORDS if word in message]


def _message(body, expected):
    try:
        decode_body(msgspec.json.encode(body), expected)
    except InvalidRequestError as error:
        return error.message
    return ""


MSGSPEC_WORDS = ("`", "$", "Expected", "Object", "Invalid", "is invalid:", "got ")
