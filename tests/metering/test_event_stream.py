"""Q18, K12: events are decoded from any chunks and line ends; oversized ones are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.metering.event_stream import (
    MAX_EVENT_BYTES,
    EventDecoder,
    EventTooLargeError,
)

ENDS = [b"\n", b"\r\n", b"\r"]


def decoded(stream, size):
    decoder = EventDecoder()
    chunks = (stream[i : i + size] for i in range(0, len(stream), size))
    return [data for chunk in chunks for data in decoder.feed(chunk)]


@given(
    st.lists(st.lists(st.binary(max_size=5).filter(lambda d: not set(d) & {10, 13}), max_size=3)),
    st.sampled_from(ENDS),
    st.integers(1, 9),
)
def test_q18_events_are_decoded_from_any_chunks(events, end, size):
    """Q18: with each line ending; comments and other fields are ignored."""
    stream = b"".join(
        b": comment" + end + b"event: a" + end + b"".join(b"data: " + d + end for d in data) + end
        for data in events
    )

    assert decoded(stream, size) == [b"\n".join(data) for data in events if data]


def test_q18_an_event_that_has_not_ended_is_not_reported():
    assert decoded(b"data: 1\n\ndata: 2\n", 4) == [b"1"]


@pytest.mark.parametrize("piece", [b"x", b"data: x\n", b"x\r"])
@pytest.mark.parametrize("size", [65536, MAX_EVENT_BYTES * 2])
def test_q18_an_event_that_never_ends_is_refused(piece, size):
    """Q18: 8 MB are enough for any reply."""
    with pytest.raises(EventTooLargeError):
        decoded(piece * (MAX_EVENT_BYTES // len(piece) + 10), size)


@pytest.mark.parametrize("size", [65536, MAX_EVENT_BYTES * 2])
def test_q18_a_large_event_is_decoded(size):
    (data,) = decoded(b"data: " + b"x" * (MAX_EVENT_BYTES - 100) + b"\n\n", size)

    assert len(data) == MAX_EVENT_BYTES - 100
