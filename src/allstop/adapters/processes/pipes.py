"""The parent's ends of a child's pipes; output is read only when the caller asks for it."""

import fcntl
import math
import os
import select
import struct
import termios
from contextlib import suppress

import anyio
from anyio.lowlevel import checkpoint

from allstop.adapters.processes.readable_descriptors import watch_readiness
from allstop.ports import Chunk, Stream

CHUNK = 64 * 1024

LATE_TIMEOUT_S = 2.0
"""How long error output may stay unread while there is no other output."""
LATE_LIMIT_BYTES = 16 * 1024
"""After this much unread error output, it is read at once; a full pipe would block the program."""


class InputPipe:
    """The writing end of its standard input."""

    def __init__(self, number: int) -> None:
        os.set_blocking(number, False)
        self._number: int | None = number
        self._is_full = False  # a sender waits for space

    async def send(self, data: bytes) -> None:
        """Send all data; returns early if the program has closed its input."""
        rest = memoryview(data)
        with suppress(BrokenPipeError, anyio.ClosedResourceError):
            while rest and self._number is not None:
                try:
                    rest = rest[os.write(self._number, rest) :]
                except BlockingIOError:
                    self._is_full = True
                    await anyio.wait_writable(self._number)

    def write_word(self, word: bytes) -> None:
        """Send a word that is short enough to fit into an empty pipe."""
        if self._number is not None:
            with suppress(BrokenPipeError):
                os.write(self._number, word)

    def close(self) -> None:
        if self._number is not None:
            number, self._number = self._number, None
            if self._is_full:
                anyio.notify_closing(number)
            os.close(number)


class OutputPipes:
    """The reading ends of a program's output, and a descriptor that becomes readable at its end.

    With `errors_late`, error output alone doesn't wake the reader: waking costs as much as reading.
    """

    def __init__(self, out: int, err: int, ended: int, *, errors_late: bool = False) -> None:
        self._streams = {out: Stream.OUT, err: Stream.ERR}
        self._ended = ended
        self._remaining: dict[int, int] | None = None  # bytes to read after the end
        self._ready: list[int] = []
        self._late_errors = err if errors_late else None  # read only together with other output
        self._out = out
        self._unwatched = None if errors_late else err
        self._watch = watch_readiness(
            out, ended, timeout_s=LATE_TIMEOUT_S if errors_late else math.inf
        )
        self._poll = select.poll()  # tells which descriptor is readable
        for number in (out, err, ended):
            self._poll.register(number, select.POLLIN)
        for number in (out, err):
            os.set_blocking(number, False)

    async def first_byte(self) -> bytes:
        """Wait for the first byte of output, before `receive`; empty if the program has ended."""
        while True:
            await self._watch.wait()
            try:
                return os.read(self._out, 1)
            except BlockingIOError:
                self._update_ready()
                if self._remaining is not None:
                    return b""

    async def receive(self) -> Chunk | None:
        if self._unwatched is not None:
            self._watch.add(self._unwatched)
            self._unwatched = None
        if not self._ready and self._remaining is None:
            self._update_ready()  # polling costs far less than waiting
        if self._ready or self._remaining is not None:
            await checkpoint()  # in the other case the loop below waits
        while self._remaining is None:
            if chunk := self._next_ready():
                return chunk
            await self._watch.wait()
            self._update_ready()
        return self._read_rest(self._remaining)

    def close(self) -> None:
        self._watch.close()
        for number in self._streams:
            os.close(number)

    def _update_ready(self) -> None:
        self._ready = [number for number, _ in self._poll.poll(0)]
        if self._ended in self._ready:
            # The program can't write any more. Other holders of the pipe could write forever.
            self._remaining = {number: _pending_bytes(number) for number in self._streams}

    def _next_ready(self) -> Chunk | None:
        while self._ready:
            number = self._ready.pop()
            with suppress(BlockingIOError):
                if data := os.read(number, CHUNK):
                    self._watch_if_large(number, len(data))
                    return Chunk(self._streams[number], data)
                if number != self._late_errors:
                    self._watch.remove(number)
                self._poll.unregister(number)
        return None

    def _watch_if_large(self, number: int, size: int) -> None:
        if number == self._late_errors and size >= LATE_LIMIT_BYTES:
            self._late_errors = None
            self._watch.add(number)

    def _read_rest(self, remaining: dict[int, int]) -> Chunk | None:
        for number, size in remaining.items():
            with suppress(BlockingIOError):
                if size and (data := os.read(number, min(size, CHUNK))):
                    remaining[number] = size - len(data)
                    return Chunk(self._streams[number], data)
            remaining[number] = 0
        return None


def _pending_bytes(number: int) -> int:
    """Return how many bytes are in the pipe."""
    answer = fcntl.ioctl(number, termios.FIONREAD, struct.pack("i", 0))
    size: int = struct.unpack("i", answer)[0]
    return size
