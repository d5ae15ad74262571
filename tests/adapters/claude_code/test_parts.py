"""K12, K13, K18: broken lines, times in words, and what a command line is."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as some

from allstop.adapters.agents.claude_code import announced, orders
from allstop.adapters.agents.claude_code.asking import literal_words
from allstop.adapters.agents.claude_code.messages import Result, Unreadable, read

NOW = datetime(2026, 11, 16, 5, 0, tzinfo=UTC)  # a Monday
WEST = timezone(timedelta(hours=-5))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"type":"result","result":"a\xffb"}', "a\ufffdb"),
        (rb'{"type":"result","result":"a\ud83db"}', "a?b"),
        (b'{"type":"result","result":"ok","new":{"x":[1]}}', "ok"),
    ],
)
def test_k12_broken_characters_are_mended(line, text):
    """K12: neither bytes nor halves of characters that are no text stop it."""
    message = read(line)

    assert isinstance(message, Result)
    assert message.result == text


@pytest.mark.parametrize("line", [b"{", b"[]", b"[" * 100_000, b'{"type":"result","is_error":3}'])
def test_k12_what_makes_no_sense_is_a_value(line):
    """K12: never an exception."""
    assert isinstance(read(line), Unreadable)


@pytest.mark.parametrize(
    ("words", "until"),
    [
        ("usage limit reached|1794812400", datetime(2026, 11, 16, 7, 0, tzinfo=UTC)),
        ("usage limit reached|1794812400000", datetime(2026, 11, 16, 7, 0, tzinfo=UTC)),
        ("limit · resets 12:50am (UTC)", datetime(2026, 11, 17, 0, 50, tzinfo=UTC)),
        ("limit · resets 12:50pm (UTC)", datetime(2026, 11, 16, 12, 50, tzinfo=UTC)),
        ("limit · resets 3am", datetime(2026, 11, 16, 8, 0, tzinfo=UTC)),
        ("resets at 9am (Europe/Berlin)", datetime(2026, 11, 16, 8, 0, tzinfo=UTC)),
        ("resets 9am (No/Where)", datetime(2026, 11, 16, 14, 0, tzinfo=UTC)),
        ("resets Nov 20, 5pm (UTC)", datetime(2026, 11, 20, 17, 0, tzinfo=UTC)),
        ("resets Thu 5pm (UTC)", datetime(2026, 11, 19, 17, 0, tzinfo=UTC)),
        ("resets 17:30 (UTC)", datetime(2026, 11, 16, 17, 30, tzinfo=UTC)),
        ("resets Feb 30, 5pm", None),
        ("resets Mar 1, 5pm (UTC)", None),  # too far away to be meant
        ("resets 99pm", datetime(2026, 11, 16, 20, 0, tzinfo=UTC)),
        ("resets soon", None),
        ("resets 4 of them", None),
        ("|9999999999", None),
    ],
)
def test_k13_a_reset_in_words_is_understood(words, until):
    """K13: "resets 12:50am" is the next such time, where it is said or where we are."""
    assert announced.reset(words, NOW, WEST) == until


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("make install", ("make", "install")),
        ("grep 'a b' \"c d\"", ("grep", "a b", "c d")),
        ("make; rm -rf /", ()),
        ("echo $HOME", ()),
        ("cat <x", ()),
        ("ls *", ()),
        ("FOO=1 make", ()),
        ("echo `id`", ()),
        ("echo 'open", ()),
        ("a\nb", ()),
        ("", ()),
    ],
)
def test_k18_only_a_plain_command_has_words(command, words):
    """K18: a rule for `make` must not let through what a shell makes of the rest."""
    assert literal_words(command) == words


@given(some.text())
def test_k10_a_prompt_is_one_line_and_never_a_command(text):
    """K10: whatever is in it, halves of characters too."""
    line = orders.say(text + "\ud800")
    content = json.loads(line)["message"]["content"]

    assert line.count(b"\n") == 1
    assert not content.lstrip().startswith("/")
    assert text.encode(errors="replace").decode() in content
