"""The two sides of a child's pipes that are ours: nothing is read before it is asked for."""

from __future__ import annotations

import fcntl
import math
import os
import select
import struct
import termios
from contextlib import suppress

import anyio
from anyio.lowlevel import checkpoint

from allstop.adapters.processes.readiness import sentry
from allstop.ports import Chunk, Stream

CHUNK = 64 * 1024

LATE_S = 2.0
"""So long what is said of errors may lie, while nothing else is said."""
MUCH = 16 * 1024
"""Whoever says that much of them is listened to from then on: else it would have to wait for us."""


class Inlet:
    """The writing end of its standard input."""

    def __init__(self, number: int) -> None:
        os.set_blocking(number, False)
        self._number: int | None = number
        self._is_full = False  # somebody waits for room

    async def send(self, data: bytes) -> None:
        """Until all is taken, or nobody is left to take it."""
        rest = memoryview(data)
        with suppress(BrokenPipeError, anyio.ClosedResourceError):
            while rest and self._number is not None:
                try:
                    rest = rest[os.write(self._number, rest) :]
                except BlockingIOError:
                    self._is_full = True
                    await anyio.wait_writable(self._number)

    def say(self, word: bytes) -> None:
        """For a word so short that an empty pipe always has room for it."""
        if self._number is not None:
            with suppress(BrokenPipeError):
                os.write(self._number, word)

    def close(self) -> None:
        if self._number is not None:
            number, self._number = self._number, None
            if self._is_full:
                anyio.notify_closing(number)
            os.close(number)


class Outlet:
    """The reading ends of its output, and the sign that it has ended.

    To wake up for what programs log costs as much as to wake up for what they have to say.
    """

    def __init__(self, out: int, err: int, ended: int, *, errors_late: bool = False) -> None:
        self._streams = {out: Stream.OUT, err: Stream.ERR}
        self._ended = ended
        self._left: dict[int, int] | None = None  # what is to be read after the end
        self._ready: list[int] = []
        self._late = err if errors_late else None  # … and is read when something else is
        self._out = out
        self._unwatched = None if errors_late else err
        self._sentry = sentry(out, ended, at_most_s=LATE_S if errors_late else math.inf)
        self._poll = select.poll()  # … and which of them it was
        for number in (out, err, ended):
            self._poll.register(number, select.POLLIN)
        for number in (out, err):
            os.set_blocking(number, False)

    async def first_byte(self) -> bytes:
        """Of what it says, before anything is received; nothing where it has ended."""
        while True:
            await self._sentry.wait()
            try:
                return os.read(self._out, 1)
            except BlockingIOError:
                self._look()
                if self._left is not None:
                    return b""

    async def receive(self) -> Chunk | None:
        if self._unwatched is not None:
            self._sentry.add(self._unwatched)
            self._unwatched = None
        if not self._ready and self._left is None:
            self._look()  # to wait for what is there already costs far more
        if self._ready or self._left is not None:
            await checkpoint()  # otherwise there is something to wait for
        while self._left is None:
            if chunk := self._next_ready():
                return chunk
            await self._sentry.wait()
            self._look()
        return self._rest(self._left)

    def close(self) -> None:
        self._sentry.close()
        for number in self._streams:
            os.close(number)

    def _look(self) -> None:
        self._ready = [number for number, _ in self._poll.poll(0)]
        if self._ended in self._ready:
            # Nothing of its own can come now; others may hold the pipe, and write for ever.
            self._left = {number: _waiting(number) for number in self._streams}

    def _next_ready(self) -> Chunk | None:
        while self._ready:
            number = self._ready.pop()
            with suppress(BlockingIOError):
                if data := os.read(number, CHUNK):
                    self._heed(number, len(data))
                    return Chunk(self._streams[number], data)
                if number != self._late:
                    self._sentry.drop(number)
                self._poll.unregister(number)
        return None

    def _heed(self, number: int, size: int) -> None:
        if number == self._late and size >= MUCH:
            self._late = None
            self._sentry.add(number)

    def _rest(self, left: dict[int, int]) -> Chunk | None:
        for number, size in left.items():
            with suppress(BlockingIOError):
                if size and (data := os.read(number, min(size, CHUNK))):
                    left[number] = size - len(data)
                    return Chunk(self._streams[number], data)
            left[number] = 0
        return None


def _waiting(number: int) -> int:
    """How many bytes are in the pipe."""
    answer = fcntl.ioctl(number, termios.FIONREAD, struct.pack("i", 0))
    size: int = struct.unpack("i", answer)[0]
    return size
