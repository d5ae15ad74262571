"""K10, K12: reading lines and writing prompts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from allstop.adapters.agents.claude_code import input_lines
from allstop.adapters.agents.claude_code.messages import Result, Unreadable, read


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"type":"result","result":"a\xffb"}', "a\ufffdb"),
        (rb'{"type":"result","result":"a\ud83db"}', "a?b"),
        (b'{"type":"result","result":"ok","new":{"x":[1]}}', "ok"),
    ],
)
def test_k12_invalid_characters_are_replaced(line, text):
    """K12: invalid UTF-8 and lone surrogates don't stop it."""
    message = read(line)

    assert isinstance(message, Result)
    assert message.result == text


@pytest.mark.parametrize("line", [b"{", b"[]", b"[" * 100_000, b'{"type":"result","is_error":3}'])
def test_k12_an_unreadable_line_is_a_value(line):
    """K12: never an exception."""
    assert isinstance(read(line), Unreadable)


@given(some.text())
def test_k10_a_prompt_is_one_line_and_never_a_command(text):
    """K10: with any content, lone surrogates too."""
    line = input_lines.user_message(text + "\ud800", "name")
    content = json.loads(line)["message"]["content"]

    assert line.count(b"\n") == 1
    assert not content.lstrip().startswith("/")
    assert text.encode(errors="replace").decode() in content
