"""K22: agents' text can't control a terminal or hide characters."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from allstop.core.text import last_chars, one_line, plain
from support.cases import for_each

CONTROLS = [chr(n) for n in (*range(0x20), *range(0x7F, 0xA0)) if chr(n) not in "\t\n"]
BIDI = [*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]
ZERO_WIDTH = [*"\u00ad\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\U000e0041"]
SEPARATORS = [*"\u2028\u2029"]
HIDDEN = [*BIDI, *ZERO_WIDTH, *SEPARATORS]
NASTY = st.lists(
    st.sampled_from(
        [*CONTROLS, *HIDDEN, "\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x07", "m", "0;", "x"]
    )
    | st.text(max_size=3),
    max_size=20,
).map("".join)


@given(NASTY)
@example("\x1b\x1b[31m[31m")
@example("\x1b]0;title\x1b")
def test_k22_no_escape_control_bidi_or_zero_width_letter_survives(text):
    shown = plain(text)

    assert not set(shown) & {*CONTROLS, *HIDDEN}
    assert not [
        letter for letter in shown if unicodedata.category(letter) == "Cc" and letter not in "\t\n"
    ]


@given(NASTY)
def test_what_is_plain_already_stays_as_it_is(text):
    once = plain(text)

    assert plain(once) == once


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_left_alone(text):
    assert plain(text) == text


@for_each(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;aGk=\x07", ""),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x9b31mred", "red"),
        ("\x1b(Bx\x1b7y\x1bcz", "xyz"),
        ("a\x1b[", "a"),
        ("one\r\ntwo", "one\ntwo"),
        ("50%\r100%", "50%\N{REPLACEMENT CHARACTER}100%"),
        ("a\x00b\x08c", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"),
        ("user\u202egnp.exe", "user<U+202E>gnp.exe"),
        ("pass\u200bword", "pass<U+200B>word"),
        ("\U000e0041", "<U+E0041>"),
        ("é 日本 🙂\ttab\n", "é 日本 🙂\ttab\n"),
    ],
)
def test_k22_escapes_are_gone_and_what_hides_is_shown(text, shown):
    assert plain(text) == shown


@given(NASTY, st.integers(1, 60))
def test_one_line_is_one_short_line(text, most):
    line = one_line(text, most)

    assert len(line) <= most
    assert len(line.splitlines()) <= 1
    assert line == line.strip()


@given(st.text(max_size=200), st.integers(1, 100))
def test_an_ending_keeps_the_last_characters_and_says_what_is_missing(text, most):
    end = last_chars(text, most)

    assert end.endswith(text[-most:])
    assert (end == text) == (len(text) <= most)


def test_an_ending_counts_what_it_leaves_out():
    assert last_chars("x" * 2000 + "end", 3) == "[… 2,000 characters …]\nend"
