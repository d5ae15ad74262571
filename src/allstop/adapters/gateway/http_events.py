"""Reads HTTP/1.1 events from a byte stream."""

import anyio
import h11
from anyio.abc import ByteStream

MAX_HEAD_BYTES = 64 * 1024
CHUNK = 64 * 1024


async def next_event(http: h11.Connection, stream: ByteStream) -> object:
    """Raises h11.RemoteProtocolError, and what the stream raises."""
    while True:
        event = http.next_event()
        if event is not h11.NEED_DATA:
            return event
        try:
            data = await stream.receive(CHUNK)
        except anyio.EndOfStream:
            data = b""
        http.receive_data(data)
