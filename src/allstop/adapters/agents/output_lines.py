"""Splits a program's output into lines of limited length."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from allstop.core.errors import AllstopError

MAX_LINE_BYTES = 32 * 1024 * 1024
END_BYTES = 4096

BATCH_S = 0.01
"""How long output may wait for more: to wake up for each word costs more than to print it."""
BATCH_BYTES = 16 * 1024
"""A batch of this size doesn't wait."""


class LineTooLongError(AllstopError):
    """A line is longer than its reader accepts."""

    default_code = "line_too_long"


class OversizedLine(NamedTuple):
    """Both ends of a line that was too long to keep."""

    size: int
    head: bytes
    tail: bytes


Line: TypeAlias = bytes | OversizedLine


class LineSplitter:
    """Keeps at most `max_bytes` of a line, and skips empty lines."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._head = b""
        self._tail = b""

    def feed(self, data: bytes) -> Iterator[Line]:
        *ends, rest = data.split(b"\n")
        for piece in ends:
            if not self._size and len(piece) <= self._max_bytes:  # the common case, without a copy
                if line := piece.strip():
                    yield line
                continue
            self._add(piece)
            yield from self.end()
        self._add(rest)

    def feed_strict(self, data: bytes) -> Iterator[bytes]:
        """Like `feed`, but no line may be lost.

        Raises LineTooLongError if a line is too long, even if its end hasn't come yet.
        """
        for line in self.feed(data):
            if isinstance(line, OversizedLine):
                raise self._too_long()
            yield line
        if self._size > self._max_bytes:
            raise self._too_long()

    def end(self) -> Iterator[Line]:
        """The unfinished line, unless it is empty."""
        if self._size > self._max_bytes:
            yield OversizedLine(self._size, self._head, self._tail)
        elif line := b"".join(self._pieces).strip():
            yield line
        self._pieces, self._size, self._head, self._tail = [], 0, b"", b""

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._max_bytes:
            self._pieces.append(piece)
            return
        if not self._head:
            kept = b"".join(self._pieces) + piece[: END_BYTES * 2]
            self._head, self._tail, self._pieces = kept[:END_BYTES], kept[-END_BYTES:], []
        self._tail = (self._tail + piece[-END_BYTES:])[-END_BYTES:]

    def _too_long(self) -> LineTooLongError:
        return LineTooLongError(f"a line is longer than {self._max_bytes:,} bytes")
