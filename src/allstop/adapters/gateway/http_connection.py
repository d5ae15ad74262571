"""The server's end of an HTTP/1.1 connection from a box."""

from collections.abc import Iterable, Mapping

import anyio
import h11
from anyio.abc import ByteStream
from anyio.lowlevel import checkpoint
from msgspec import Struct

from allstop.adapters.gateway.http_events import CHUNK, MAX_HEAD_BYTES, next_event
from allstop.metering.request_body import MAX_BODY_BYTES

MAX_AHEAD_BYTES = 64 * 1024
"""Of a next request, while the first one is being answered."""

MAX_SMALL_PIECES = 2_000
MIN_PIECE_BYTES = 1024
"""A body in more pieces than that, which are smaller than that on average, is refused."""

PIECES_AT_ONCE = 16
"""Each takes h11 some microseconds; then other connections have their turn."""

Headers = Iterable[tuple[str, str]]


class ConnectionEndError(Exception):
    """The client is gone, or breaks the protocol."""


class HttpRequest(Struct, frozen=True, kw_only=True):
    method: str
    target: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    is_too_large: bool = False  # the body was not read to its end

    @property
    def is_upgrade(self) -> bool:
        return "upgrade" in self.headers

    @property
    def is_compressed(self) -> bool:
        return self.headers.get("content-encoding", "identity").strip().lower() != "identity"

    @property
    def is_tunnel(self) -> bool:
        return self.method == "CONNECT"

    @property
    def is_for_proxy(self) -> bool:
        """Whether the target is a whole address, as clients of a proxy send it."""
        return "://" in self.target


class MemoryRoom:
    """The memory that the requests of one box may hold at the same time."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, size: int) -> bool:
        """Whether there is room; only then it is taken."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def give_back(self, size: int) -> None:
        self._left += size


class HttpConnection:
    def __init__(self, stream: ByteStream, room: MemoryRoom) -> None:
        """Of `room`, each body takes its size until `release`."""
        self.stream = stream
        self.room = room
        self._held = 0
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self.is_answered = False  # an answer has begun
        self.has_left = False  # the client closed the connection

    async def next_request(self) -> HttpRequest | None:
        """The next request with its whole body; None after the last one. Raises ConnectionEndError."""
        if self._http.our_state is not h11.IDLE:
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return None
            self._http.start_next_cycle()
        self.is_answered = False
        self.release()
        event = await self._next_event()
        if not isinstance(event, h11.Request):
            return None
        body, is_too_large = await self._body()
        return HttpRequest(
            method=event.method.decode("ascii"),
            target=event.target.decode("ascii"),
            headers={name.decode(): value.decode("latin-1") for name, value in event.headers},
            body=body,
            is_too_large=is_too_large,
        )

    def release(self) -> None:
        """Give back the memory of the last request's body."""
        self.room.give_back(self._held)
        self._held = 0

    async def head(self, status: int, headers: Headers) -> None:
        await self._send(self._head(status, headers))

    async def data(self, chunk: bytes) -> None:
        await self._send(h11.Data(data=chunk))

    async def end(self) -> None:
        await self._send(h11.EndOfMessage())

    async def whole(self, status: int, headers: Headers, body: bytes) -> None:
        head = self._head(status, [*headers, ("content-length", str(len(body)))])
        await self._send(head, h11.Data(data=body), h11.EndOfMessage())

    async def switch_protocol(self) -> bytes:
        """Accept a CONNECT request; returns what the client sent ahead. The stream is then raw."""
        self.is_answered = True
        await self._send(h11.Response(status_code=200, headers=[], reason="Connected"))
        ahead, _ = self._http.trailing_data
        return bytes(ahead)

    async def until_closed(self) -> None:
        """Wait until the client closes the connection; what it sends ahead is kept."""
        ahead = 0
        while ahead <= MAX_AHEAD_BYTES:
            try:
                data = await self.stream.receive(CHUNK)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.has_left = True
                return
            ahead += len(data)
            self._http.receive_data(data)

    async def _body(self) -> tuple[bytes, bool]:
        body, pieces = bytearray(), 0
        if self._http.they_are_waiting_for_100_continue:
            await self._send(h11.InformationalResponse(status_code=100, headers=[]))
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            pieces += 1
            if not self._may_hold(len(event.data), len(body), pieces):
                self.release()
                return b"", True
            if pieces % PIECES_AT_ONCE == 0:
                await checkpoint()
        return bytes(body), False

    def _may_hold(self, more: int, size: int, pieces: int) -> bool:
        if size > MAX_BODY_BYTES or pieces > MAX_SMALL_PIECES + size // MIN_PIECE_BYTES:
            return False
        if not self.room.take(more):
            return False
        self._held += more
        return True

    async def _next_event(self) -> object:
        try:
            return await next_event(self._http, self.stream)
        except (
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
            h11.RemoteProtocolError,
        ) as error:
            raise ConnectionEndError from error

    def _head(self, status: int, headers: Headers) -> h11.Response:
        self.is_answered = True
        given = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        if self._http.their_state is not h11.DONE:
            given.append((b"connection", b"close"))
        return h11.Response(status_code=status, headers=given)

    async def _send(self, *events: h11.Event) -> None:
        try:
            if data := b"".join(self._http.send(event) or b"" for event in events):
                await self.stream.send(data)
        except (
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
            h11.LocalProtocolError,
        ) as error:
            self.has_left = True
            raise ConnectionEndError from error
