"""The gateway of one turn: serves its box's loopback until the turn ends."""

import socket
from contextlib import suppress

import anyio
from anyio.abc import SocketListener, SocketStream, TaskGroup, TaskStatus, UDPSocket

from allstop.adapters.gateway.http_connection import ConnectionEndError, HttpConnection, HttpRequest
from allstop.adapters.gateway.model_call import Metering, pass_call, pass_free, refuse
from allstop.adapters.gateway.name_refusal import refuse_name
from allstop.metering.model_routes import Route, find_route
from allstop.metering.refusals import Refusal
from allstop.ports import BoxSockets

MAX_CONNECTIONS = 32
MAX_REFUSED = 50
"""Different names and paths that are remembered for each turn."""


class TurnGateway:
    """`serve` is called by the launcher of the box; `run` does the work.

    After the turn's end no call passes any more, and those under way are cut. Until its process
    has ended, each call gets the answer that the turn is over: clients that find nobody go on
    trying.
    """

    def __init__(self, metering: Metering) -> None:
        self.metering = metering
        self.names: list[str] = []  # names that the box looked up
        self.paths: list[str] = []  # requests that aren't allowed
        self.cut = 0  # calls that the end of the turn cut off
        self.late = 0  # calls after it
        self._is_over = False
        self._calls: set[anyio.CancelScope] = set()
        self._servers: TaskGroup | None = None
        self._closed = anyio.Event()
        self._free = anyio.Semaphore(MAX_CONNECTIONS)

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
        """End the turn's access, and cut the calls under way."""
        self._is_over = True
        for scope in self._calls:
            scope.cancel()

    def close(self) -> None:
        """Stop serving; its process has ended."""
        self.end()
        self._closed.set()

    async def _end_when_cancelled(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            self.end()

    async def _serve_calls(self, calls: socket.socket) -> None:
        calls.setblocking(False)  # noqa: FBT003 - the standard library's form
        async with await SocketListener.from_socket(calls) as listener:
            await listener.serve(self._serve_connection)

    async def _serve_connection(self, stream: SocketStream) -> None:
        async with stream, self._free:
            connection = HttpConnection(stream)
            with suppress(ConnectionEndError):
                while (request := await connection.next_request()) is not None:
                    await self._answer(connection, request)

    async def _answer(self, connection: HttpConnection, request: HttpRequest) -> None:
        target = self.metering.target
        route = find_route(target.provider, request.method, request.target)
        if self._is_over:
            self.late += 1
            await self._refuse_over(connection)
        elif request.is_upgrade:
            message = "this gateway speaks plain HTTP only"
            await refuse(connection, target, Refusal.NO_UPGRADE, message)
        elif request.is_too_large:
            await refuse(connection, target, Refusal.TOO_LARGE, "the request is too large")
        elif route is None:
            path = request.target.partition("?")[0][:100]
            _remember(self.paths, f"{request.method} {path}")
            await refuse(connection, target, Refusal.NOT_ALLOWED, f"{path} is not allowed")
        else:
            await self._pass(connection, request, route)

    async def _pass(self, connection: HttpConnection, request: HttpRequest, route: Route) -> None:
        """Pass on a request, until the turn ends or the client closes the connection."""
        passes = pass_free if route.wire is None else pass_call
        is_gone = False
        with anyio.CancelScope() as scope:
            self._calls.add(scope)
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(_cancel_when_closed, connection, group)
                    try:
                        await passes(self.metering, connection, request, route)
                    except ConnectionEndError:  # not through the group, which would wrap it
                        is_gone = True
                    group.cancel_scope.cancel()
            finally:
                self._calls.discard(scope)
        if is_gone:
            raise ConnectionEndError
        if scope.cancelled_caught:
            self.cut += 1
            await self._refuse_over(connection)

    async def _refuse_over(self, connection: HttpConnection) -> None:
        if connection.is_answered:
            raise ConnectionEndError
        await refuse(connection, self.metering.target, Refusal.TURN_OVER, "this turn is over")

    async def _serve_names(self, names: socket.socket) -> None:
        names.setblocking(False)  # noqa: FBT003 - the standard library's form
        async with await UDPSocket.from_socket(names) as lookups:
            async for query, (host, port) in lookups:
                if (refused := refuse_name(query)) is not None:
                    name, reply = refused
                    _remember(self.names, name)
                    with suppress(anyio.BrokenResourceError):
                        await lookups.sendto(reply, host, port)


async def _cancel_when_closed(connection: HttpConnection, group: TaskGroup) -> None:
    await connection.until_closed()
    group.cancel_scope.cancel()


def _remember(known: list[str], text: str) -> None:
    if text not in known and len(known) < MAX_REFUSED:
        known.append(text)
