"""Accepts clients of a Unix socket, and exchanges data with each.

It uses no anyio streams, because they log a traceback when data arrives while the reader is being
cancelled.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 - anyio can wait for a connection only in a task of its own
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
from anyio.lowlevel import checkpoint

CHUNK = 64 * 1024

NO_MORE_FILES_S = 0.1
"""The pause before another try when no more files can be opened."""


class SocketClient:
    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._connection = connection

    def __enter__(self) -> SocketClient:
        return self

    def __exit__(self, *_: object) -> None:
        anyio.notify_closing(self._connection)
        self._connection.close()

    async def receive(self) -> bytes:
        """The next data; empty after the client has closed. Yields to other tasks each time."""
        await checkpoint()
        with suppress(ConnectionError):
            while True:
                with suppress(BlockingIOError):
                    return self._connection.recv(CHUNK)
                await anyio.wait_readable(self._connection)
        return b""

    async def send(self, data: bytes) -> None:
        unsent = memoryview(data)
        with suppress(ConnectionError):
            while unsent:
                try:
                    unsent = unsent[self._connection.send(unsent) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._connection)


async def accept_client(listener: socket.socket) -> SocketClient:
    while True:
        await anyio.wait_readable(listener)
        try:
            return SocketClient(listener.accept()[0])
        except (BlockingIOError, ConnectionAbortedError):
            pass  # the client gave up
        except OSError:
            await anyio.sleep(NO_MORE_FILES_S)


@contextmanager
def on_first_connection(listener: socket.socket, do: Callable[[], object]) -> Iterator[None]:
    """Call `do` once, when a client connects within the block; at once if the loop isn't asyncio."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        do()
        yield
        return
    is_waiting, number = True, listener.fileno()  # given a socket, asyncio formats its addresses

    def on_readable() -> None:
        nonlocal is_waiting
        is_waiting = False
        loop.remove_reader(number)
        do()

    loop.add_reader(number, on_readable)
    try:
        yield
    finally:
        if is_waiting:
            loop.remove_reader(number)
