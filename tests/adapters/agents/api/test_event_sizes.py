"""Q18, K12: oversized events are detected, with any chunks and line ends."""

import pytest

from allstop.adapters.agents.api.http_client import EVENT_BYTES, EVENT_LINES, EventSizeCheck


def all_sane(stream, size):
    check = EventSizeCheck()
    return all(check.accepts(stream[i : i + size]) for i in range(0, len(stream), size))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 4096])
def test_q18_events_of_any_number_are_fine(end, size):
    """Q18: with each line ending, in chunks of any size."""
    event = b"event: a" + end + b"data: {}" + end + end

    assert all_sane(event * 1000, size)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 4096])
def test_q18_too_many_lines_are_noticed(end, size):
    """Q18: many lines without the end of the event."""
    assert not all_sane((b"x" + end) * (EVENT_LINES + 1), size)


@pytest.mark.parametrize("size", [65536, EVENT_BYTES * 2])
def test_q18_a_line_that_never_ends_is_noticed(size):
    """Q18: 8 MB are enough for any reply."""
    assert not all_sane(b"data: " + b"x" * EVENT_BYTES, size)
    assert all_sane(b"data: " + b"x" * (EVENT_BYTES - 100) + b"\n\n", size)
