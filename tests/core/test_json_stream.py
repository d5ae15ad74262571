"""R1, R19: people see the message of a JSON reply while it is streamed."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.json_stream import MessageExtractor

text = st.text(st.characters(codec="utf-8"), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
envelopes = st.tuples(
    st.dictionaries(text.filter("message".__ne__), values, max_size=3),
    text,
    st.dictionaries(text.filter("message".__ne__), values, max_size=3),
).map(lambda parts: {**parts[0], "message": parts[1], **parts[2]})


def shown(written, cuts):
    words = MessageExtractor()
    places = sorted({0, len(written), *(cut % (len(written) + 1) for cut in cuts)})
    pieces = [written[a:b] for a, b in itertools.pairwise(places)]
    return "".join(words.feed(piece) for piece in pieces)


@given(
    envelopes,
    st.booleans(),
    st.sampled_from([None, 0, 2]),
    st.lists(st.integers(0, 10_000), max_size=60),
)
def test_r1_however_it_is_cut_the_message_is_what_is_shown(envelope, ascii_, indent, cuts):
    """R1: like json.loads, including surrogate pairs and escapes."""
    written = json.dumps(envelope, ensure_ascii=ascii_, indent=indent)

    assert shown(written, cuts) == json.loads(written)["message"]
    assert shown(written, range(len(written))) == envelope["message"]


@given(
    text.filter(lambda words: not words.lstrip(" \t\r\n").startswith("{")),
    st.lists(st.integers(0, 99)),
)
def test_r1_what_is_no_object_is_shown_as_it_is(words, cuts):
    """R1: after white space alone an object may follow."""
    expected = words if words.strip(" \t\r\n") else ""

    assert shown(words, cuts) == expected


@given(st.text(alphabet='{}[]":,\\u0129ad message\n', max_size=60), st.lists(st.integers(0, 99)))
def test_r1_anything_is_survived(written, cuts):
    """R1, Q18: the result for invalid JSON does not depend on the pieces."""
    assert shown(written, cuts) == shown(written, [])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r'{"message": "a\ud83d\ude00b"}', "a😀b"),
        (r'{"message": "a\ud83dx"}', "a\N{REPLACEMENT CHARACTER}x"),
        (r'{"message": "a\ud83d"}', "a\N{REPLACEMENT CHARACTER}"),
        (r'{"m\u0065ssage": "\"\\\/\b\f\n\r\t"}', '"\\/\b\f\n\r\t'),
        ('{"handoff": {"message": "no", "to": ["message", "no"]}, "message": "yes"}', "yes"),
        ('{"a": "message", "message": "yes", "b": "message"}', "yes"),
        ('  \n{"message": "yes"', "yes"),
    ],
)
def test_r1_the_corners(written, expected):
    """R1: escapes, nesting, and keys that also occur as values."""
    assert shown(written, range(len(written))) == expected
