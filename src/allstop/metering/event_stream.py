"""Decodes server-sent events from chunks of bytes."""

import re
from collections.abc import Iterator

MAX_EVENT_BYTES = 8 * 1024 * 1024

_LINE_END = re.compile(rb"\r\n|\n|\r")


class EventTooLargeError(ValueError):
    """An event of the stream is larger than `MAX_EVENT_BYTES`."""


class EventDecoder:
    """Yields the data of each event; the other fields aren't needed."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # the pieces of a line that hasn't ended
        self._data: list[bytes] = []  # of an event that hasn't ended
        self._bytes = 0
        self._skip_newline = False  # the last chunk ended with \r

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of the events that end in this chunk.

        Raises EventTooLargeError.
        """
        if self._skip_newline and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._skip_newline = chunk.endswith(b"\r") or (self._skip_newline and not chunk)
        first, *more = _LINE_END.split(chunk)
        self._line.append(first)
        self._count(len(first))
        for line in more:
            yield from self._end_line()
            self._line.append(line)
            self._count(len(line) + 1)

    def _end_line(self) -> Iterator[bytes]:
        line = b"".join(self._line)
        self._line.clear()
        if not line:
            data, self._data, self._bytes = self._data, [], 0
            if data:
                yield b"\n".join(data)
        elif line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))

    def _count(self, size: int) -> None:
        self._bytes += size
        if self._bytes > MAX_EVENT_BYTES:
            raise EventTooLargeError("the response has an event that is too large")
