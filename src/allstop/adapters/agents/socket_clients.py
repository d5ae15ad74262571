"""Those who come to a door: hearing the first knock, and talking with each.

The streams of anyio are not used: when one is told of data while its reader is being cancelled, a
traceback is written to the log.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 - with anyio, only a task of its own can wait for it
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
from anyio.lowlevel import checkpoint

CHUNK = 64 * 1024

NO_MORE_FILES_S = 0.1
"""So long is waited where no more files can be opened."""


class Caller:
    """Somebody who was let in."""

    def __init__(self, line: socket.socket) -> None:
        line.settimeout(0)
        self._line = line

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        anyio.notify_closing(self._line)
        self._line.close()

    async def receive(self) -> bytes:
        """Nothing once they have gone. Who never stops talking keeps nobody else waiting."""
        await checkpoint()
        with suppress(ConnectionError):
            while True:
                with suppress(BlockingIOError):
                    return self._line.recv(CHUNK)
                await anyio.wait_readable(self._line)
        return b""

    async def send(self, data: bytes) -> None:
        rest = memoryview(data)
        with suppress(ConnectionError):
            while rest:
                try:
                    rest = rest[self._line.send(rest) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._line)


async def next_caller(door: socket.socket) -> Caller:
    while True:
        await anyio.wait_readable(door)
        try:
            return Caller(door.accept()[0])
        except (BlockingIOError, ConnectionAbortedError):
            pass  # they have thought better of it
        except OSError:
            await anyio.sleep(NO_MORE_FILES_S)


@contextmanager
def on_first_knock(door: socket.socket, do: Callable[[], object]) -> Iterator[None]:
    """Once, within the block, as soon as somebody is there; with another loop, at its beginning."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        do()
        yield
        return
    is_quiet, number = True, door.fileno()  # of a socket, asyncio would spell out both addresses

    def heard() -> None:
        nonlocal is_quiet
        is_quiet = False
        loop.remove_reader(number)
        do()

    loop.add_reader(number, heard)
    try:
        yield
    finally:
        if is_quiet:
            loop.remove_reader(number)
