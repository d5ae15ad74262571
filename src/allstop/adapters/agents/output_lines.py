"""A program's output cut into lines, with a limit to how long one can get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from allstop.core.errors import AllstopError

MOST_BYTES = 32 * 1024 * 1024
END_BYTES = 4096

GATHER_S = 0.01
"""How long words may wait for those that follow them: to wake up for each one costs more than it."""
GATHERED_BYTES = 16 * 1024
"""Whoever says that much at once is not kept waiting."""


class LineTooLongError(AllstopError):
    """A line without an end, where none may be lost."""


class TooLong(NamedTuple):
    """What is left of a line that nobody keeps."""

    size: int
    head: bytes
    tail: bytes


Line: TypeAlias = bytes | TooLong


class Lines:
    """Keeps no more than `most` bytes, whatever comes. Lines with nothing in them are left out."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0
        self._head = b""
        self._tail = b""

    def feed(self, data: bytes) -> Iterator[Line]:
        *ends, rest = data.split(b"\n")
        for piece in ends:
            if not self._size and len(piece) <= self._most:  # as nearly all are
                if line := piece.strip():
                    yield line
                continue
            self._add(piece)
            yield from self.end()
        self._add(rest)

    def whole(self, data: bytes) -> Iterator[bytes]:
        """The same, for whom each line counts.

        Raises:
            LineTooLongError: one is, and may never come to its end.
        """
        for line in self.feed(data):
            if isinstance(line, TooLong):
                raise self._too_long()
            yield line
        if self._size > self._most:
            raise self._too_long()

    def end(self) -> Iterator[Line]:
        """The line as far as it has come, if there is anything in it."""
        if self._size > self._most:
            yield TooLong(self._size, self._head, self._tail)
        elif line := b"".join(self._pieces).strip():
            yield line
        self._pieces, self._size, self._head, self._tail = [], 0, b"", b""

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._most:
            self._pieces.append(piece)
            return
        if not self._head:
            kept = b"".join(self._pieces) + piece[: END_BYTES * 2]
            self._head, self._tail, self._pieces = kept[:END_BYTES], kept[-END_BYTES:], []
        self._tail = (self._tail + piece[-END_BYTES:])[-END_BYTES:]

    def _too_long(self) -> LineTooLongError:
        return LineTooLongError(f"a line is longer than {self._most:,} bytes")
