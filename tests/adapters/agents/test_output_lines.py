"""K12: splitting output into lines of limited length."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from allstop.adapters.agents.output_lines import LineSplitter, LineTooLongError, OversizedLine


@given(some.binary(max_size=200), some.lists(some.integers(0, 200), max_size=8))
def test_k12_lines_are_the_same_however_they_come(data, cuts):
    """K12: for any chunks."""
    lines, got, edges = (
        LineSplitter(),
        [],
        [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)],
    )
    for start, stop in pairwise(edges):
        got += lines.feed(data[start:stop])
    got += lines.end()

    assert got == [line.strip() for line in data.split(b"\n") if line.strip()]


def test_k12_a_line_that_is_too_long_leaves_only_its_ends():
    """K12: and the next line is complete."""
    lines = LineSplitter(max_bytes=10_000)
    got = [*lines.feed(b"a" * 9_000), *lines.feed(b"b" * 9_000), *lines.feed(b"c\nnext\n")]

    assert got == [OversizedLine(18_001, b"a" * 4096, b"b" * 4095 + b"c"), b"next"]


@pytest.mark.parametrize("endless", [b"x" * 11, b"x" * 11 + b"\nnext\n"])
def test_k12_a_strict_reader_rejects_a_long_line(endless):
    """K12: a line over the limit fails before its end."""
    lines = LineSplitter(max_bytes=10)

    assert [
        *lines.feed_strict(b"ab"),
        *lines.feed_strict(b"c\nde\n\nf"),
        *lines.feed_strict(b"\n"),
    ] == [
        b"abc",
        b"de",
        b"f",
    ]
    with pytest.raises(LineTooLongError):
        list(lines.feed_strict(endless))
