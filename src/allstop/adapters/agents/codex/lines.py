"""Cutting what an app-server says into lines, of which none may be endless."""

from __future__ import annotations

from collections.abc import Iterator

from allstop.core.errors import AllstopError

LINE_BYTES = 32 * 1024 * 1024
"""A finished item holds all its text; nothing sensible is longer."""


class LineTooLongError(AllstopError):
    """A line without an end."""


class Lines:
    def __init__(self, most: int = LINE_BYTES) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that have come to their end, without it.

        Raises:
            LineTooLongError: one never does.
        """
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._keep(part)
            line = b"".join(self._parts)
            self._parts, self._size = [], 0
            yield line
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._most:
            self._parts = []
            raise LineTooLongError(f"a line is longer than {self._most:,} bytes")
        if part:
            self._parts.append(part)
