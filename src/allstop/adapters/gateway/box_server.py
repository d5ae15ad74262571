"""Serves the loopback of one box: HTTP connections and lookups of names, until it is closed."""

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
from anyio.abc import TaskGroup, TaskStatus, UDPSocket

from allstop.adapters.gateway.http_connection import (
    ConnectionEndError,
    HttpConnection,
    HttpRequest,
    MemoryRoom,
)
from allstop.adapters.gateway.name_refusal import refuse_name
from allstop.adapters.gateway.socket_stream import TcpStream, accept
from allstop.ports import BoxSockets

MAX_CONNECTIONS = 64
"""At a time, for each box. More wait in the kernel, so that no box uses up this process's files."""

MAX_REMEMBERED = 50
"""Different names, paths or hosts that are remembered for each box."""

REQUEST_S = 300.0
"""For a connection without a whole request: it is closed, so that idle ones don't fill the places."""

ACCEPT_AGAIN_S = 0.2

MAX_HELD_BYTES = 192 * 1024 * 1024
"""Of requests, for each box."""

REQUESTS_PER_S = 200
"""Connections and requests of each box, after as many at once: the others have their turn, too."""


class BoxServer(ABC):
    """`serve` is called by the launcher of the box; `run` does the work.

    After `end` nothing passes any more, and what is under way is cut. Until `close`, each request
    still gets an answer: clients that find nobody go on trying.
    """

    def __init__(self, port: int, saw_name: Callable[[str], None] = lambda name: None) -> None:
        """`saw_name` is told once of each name that the box looked up."""
        self.port = port
        self._saw_name = saw_name
        self.names: list[str] = []  # names that the box looked up
        self._is_over = False
        self._under_way: set[anyio.CancelScope] = set()
        self._servers: TaskGroup | None = None
        self._closed = anyio.Event()
        self._free = anyio.Semaphore(MAX_CONNECTIONS)
        self._room = MemoryRoom(MAX_HELD_BYTES)
        self._paced_until = 0.0

    @abstractmethod
    async def _answer(self, connection: HttpConnection, request: HttpRequest) -> None: ...

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until `close`, also while it is being cancelled: the program may still ask."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._end_when_cancelled)
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as servers:
                    self._servers = servers
                    task_status.started()
                    await self._closed.wait()
                    servers.cancel_scope.cancel()
            group.cancel_scope.cancel()

    def serve(self, sockets: BoxSockets) -> None:
        assert self._servers is not None, "it runs before a box is started"
        self._servers.start_soon(self._serve_calls, socket.socket(fileno=sockets.calls))
        self._servers.start_soon(self._serve_names, socket.socket(fileno=sockets.names))

    def end(self) -> None:
        """End the box's access, and cut what is under way."""
        self._is_over = True
        for scope in self._under_way:
            scope.cancel()

    def close(self) -> None:
        """Stop serving; the box's program has ended."""
        self.end()
        self._closed.set()

    @contextmanager
    def _cut_at_end(self) -> Iterator[anyio.CancelScope]:
        with anyio.CancelScope() as scope:
            self._under_way.add(scope)
            try:
                yield scope
            finally:
                self._under_way.discard(scope)

    async def _end_when_cancelled(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            self.end()

    async def _serve_calls(self, calls: socket.socket) -> None:
        calls.setblocking(False)  # noqa: FBT003 - the standard library's form
        with calls:
            async with anyio.create_task_group() as group:
                while True:
                    await self._free.acquire()
                    try:
                        stream = await accept(calls)
                    except OSError:  # this process has no free descriptor, or the client is gone
                        self._free.release()
                        await anyio.sleep(ACCEPT_AGAIN_S)
                    else:
                        group.start_soon(self._serve_connection, stream)
                        await self._pace()

    async def _serve_connection(self, stream: TcpStream) -> None:
        connection = HttpConnection(stream, self._room)
        try:
            async with stream:
                with suppress(ConnectionEndError):
                    while (request := await _next_request(connection)) is not None:
                        await self._answer(connection, request)
                        await self._pace()
        finally:
            connection.release()
            self._free.release()

    async def _pace(self) -> None:
        """Let a box that asks without a pause wait."""
        now = anyio.current_time()
        self._paced_until = max(self._paced_until, now - 1) + 1 / REQUESTS_PER_S
        await anyio.sleep(max(0.0, self._paced_until - now))

    async def _serve_names(self, names: socket.socket) -> None:
        names.setblocking(False)  # noqa: FBT003 - the standard library's form
        async with await UDPSocket.from_socket(names) as lookups:
            async for query, (host, port) in lookups:
                if (refused := refuse_name(query)) is not None:
                    name, reply = refused
                    if remember(self.names, name):
                        self._saw_name(name)
                    with suppress(anyio.BrokenResourceError):
                        await lookups.sendto(reply, host, port)


async def _next_request(connection: HttpConnection) -> HttpRequest | None:
    with anyio.move_on_after(REQUEST_S):
        return await connection.next_request()
    return None


def remember(known: list[str], text: str) -> bool:
    """Whether it is new, and kept."""
    if text in known or len(known) >= MAX_REMEMBERED:
        return False
    known.append(text)
    return True
