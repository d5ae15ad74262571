"""Sends requests to the model's real address, with the real key or login."""

import os
import select
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Protocol
from urllib.parse import urlsplit

import anyio
import h11
from anyio.abc import ByteStream, SocketAttribute
from msgspec import Struct

from allstop import __version__
from allstop.adapters.gateway.http_events import CHUNK, MAX_HEAD_BYTES, next_event
from allstop.metering.stored_logins import StoredLogin, is_claude_token
from allstop.metering.wire_formats import Provider

CONNECT_TIMEOUT_S = 15.0

IDLE_S = 30.0
"""How long a connection is kept for the next call; servers keep theirs as long, or longer."""

MAX_IDLE = 4

PASSED_REQUEST_HEADERS = frozenset({
    "accept", "anthropic-beta", "anthropic-version", "content-type", "conversation_id",
    "openai-beta", "originator", "session-id", "session_id", "thread-id", "user-agent", "version",
    "x-app", "x-client-request-id", "x-codex-beta-features", "x-codex-turn-metadata",
    "x-codex-turn-state", "x-codex-window-id", "x-openai-internal-codex-responses-lite",
    "x-openai-subagent",
})  # fmt: skip
PASSED_REPLY_HEADERS = frozenset({
    "cache-control", "content-length", "content-type", "openai-model", "openai-version", "request-id",
    "retry-after", "retry-after-ms", "x-request-id", "x-should-retry",
})  # fmt: skip
PASSED_REPLY_PREFIXES = ("anthropic-ratelimit-", "x-ratelimit-", "x-codex-")


class Target(Struct, frozen=True, kw_only=True):
    """The model's real address and key."""

    provider: Provider
    base_url: str
    key: str  # "" if the server needs none, or there is a login instead
    is_vendors: bool = True  # False: a compatible server
    is_capped: bool = True  # False: it refuses an output cap, as with a login at ChatGPT

    @property
    def name(self) -> str:
        """The provider's, or the host of a compatible server."""
        return self.provider.value if self.is_vendors else urlsplit(self.base_url).hostname or ""

    def __repr__(self) -> str:
        return f"Target({self.provider})"


class UpstreamError(Exception):
    """The provider can't be reached, or answers with what can't be passed on."""

    def __init__(self, message: str, *, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.is_permanent = is_permanent  # another try would end in the same way


class ClosedUnansweredError(UpstreamError):
    def __init__(self) -> None:
        super().__init__("the provider closed the connection without an answer")


class LoginError(UpstreamError):
    """There is no usable login any more: a person must log in again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, is_permanent=True)


class Tokens(Protocol):
    """The login that stands for a key."""

    async def current(self) -> StoredLogin:
        """The login, renewed if it is about to expire. Raises UpstreamError."""
        ...

    async def renew(self, rejected: StoredLogin) -> StoredLogin:
        """The login after the provider refused this one. Raises UpstreamError."""
        ...


class UpstreamReply:
    def __init__(
        self, status: int, headers: Mapping[str, str], chunks: AsyncIterator[bytes]
    ) -> None:
        self.status = status
        self.headers = headers  # names in lower case
        self.chunks = chunks  # raises UpstreamError

    @property
    def is_stream(self) -> bool:
        kind = self.headers.get("content-type", "").partition(";")[0]
        return kind.strip().lower() == "text/event-stream"

    @property
    def is_page(self) -> bool:
        """Whether it is a web page, as of a proxy that wants a login."""
        return "html" in self.headers.get("content-type", "").lower()

    @property
    def request_id(self) -> str:
        return self.headers.get("request-id") or self.headers.get("x-request-id") or ""

    @property
    def passed_headers(self) -> list[tuple[str, str]]:
        return [
            (name, value)
            for name, value in self.headers.items()
            if name in PASSED_REPLY_HEADERS or name.startswith(PASSED_REPLY_PREFIXES)
        ]


class _Connection:
    """One connection to the provider, for one call after the other."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._used_at = anyio.current_time()
        self.is_used = False

    @property
    def is_open(self) -> bool:
        """Whether it is at rest, and the provider has not closed it or sent anything more."""
        is_at_rest = self._http.our_state is h11.IDLE and not self._http.trailing_data[0]
        return (
            is_at_rest
            and anyio.current_time() - self._used_at < IDLE_S
            and not _is_readable(self._stream)
        )

    async def ask(self, events: list[h11.Event]) -> UpstreamReply:
        with _as_upstream_errors():
            request = b"".join(self._http.send(event) or b"" for event in events)
            try:
                await self._stream.send(request)
                first = await self._stream.receive(CHUNK)
            except (anyio.EndOfStream, anyio.BrokenResourceError) as error:
                raise ClosedUnansweredError from error
            self._http.receive_data(first)
            return await _reply(self._http, self._stream)

    def rest(self) -> bool:
        """Whether it can take a further call, because the last one ended properly."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        self._used_at, self.is_used = anyio.current_time(), True
        return True

    async def close(self) -> None:
        await anyio.aclose_forcefully(self._stream)


class Upstream:
    """Sends the calls of one turn. It follows no redirect, and uses no proxy."""

    def __init__(
        self,
        target: Target,
        tls: ssl.SSLContext,
        login: Tokens | None = None,
        *,
        max_idle: int = MAX_IDLE,
    ) -> None:
        """`max_idle`: connections that are kept for later calls, until `close`."""
        self._target = target
        self._tls = tls
        self._login = login
        self._max_idle = max_idle
        place = urlsplit(target.base_url)
        self._is_tls = place.scheme == "https"
        self._host = place.hostname or ""
        self._port = place.port or (443 if self._is_tls else 80)
        self._netloc = place.netloc.rpartition("@")[2]
        self._base_path = place.path.rstrip("/")
        self.token = ""  # of the login, as it was sent last
        self._idle: list[_Connection] = []
        self._is_closed = False

    @asynccontextmanager
    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncIterator[UpstreamReply]:
        """`path`: below the base address. Raises UpstreamError."""
        login = None if self._login is None else await self._login.current()
        connection, reply = await self._ask(method, path, self._headers(headers, body, login), body)
        if self._login is not None and login is not None and reply.status == 401:
            await connection.close()
            login = await self._login.renew(login)
            given = self._headers(headers, body, login)
            connection, reply = await self._ask(method, path, given, body)
        try:
            yield reply
        finally:
            await self._release(connection)

    async def close(self) -> None:
        """Close the connections that are kept for a next call."""
        self._is_closed = True
        with anyio.CancelScope(shield=True):
            while self._idle:
                await self._idle.pop().close()

    async def _ask(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> tuple[_Connection, UpstreamReply]:
        with _as_upstream_errors():
            request = h11.Request(method=method, target=self._base_path + path, headers=headers)
        events = [request, *([h11.Data(data=body)] if body else []), h11.EndOfMessage()]
        while True:
            connection = await self._take()
            try:
                return connection, await connection.ask(events)
            except ClosedUnansweredError:
                await connection.close()
                if not connection.is_used:
                    raise
                # the provider closed a kept connection at this very moment: it read no request
            except BaseException:
                await connection.close()
                raise

    async def _take(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
            await connection.close()
        return _Connection(await self._connect())

    async def _release(self, connection: _Connection) -> None:
        if not self._is_closed and len(self._idle) < self._max_idle and connection.rest():
            self._idle.append(connection)
        else:
            await connection.close()

    async def _connect(self) -> ByteStream:
        with _as_upstream_errors(), anyio.fail_after(CONNECT_TIMEOUT_S):
            if not self._is_tls:
                return await anyio.connect_tcp(self._host, self._port)
            return await anyio.connect_tcp(
                self._host,
                self._port,
                tls=True,
                ssl_context=self._tls,
                tls_standard_compatible=False,
                tls_hostname=self._host,
            )

    def _headers(
        self, headers: Mapping[str, str], body: bytes, login: StoredLogin | None
    ) -> list[tuple[bytes, bytes]]:
        passed = {name: headers[name] for name in PASSED_REQUEST_HEADERS if name in headers}
        self.token = login.access if login is not None else ""
        given = [
            ("host", self._netloc),
            *{"user-agent": f"allstop/{__version__}", **passed}.items(),
            *(self._authorization() if login is None else _login_headers(login)),
            ("accept-encoding", "identity"),
            *([("content-length", str(len(body)))] if body else []),
        ]
        return [(name.encode(), value.encode("latin-1")) for name, value in given]  # any byte

    def _authorization(self) -> Iterator[tuple[str, str]]:
        if key := self._target.key:
            match self._target.provider:
                case Provider.ANTHROPIC if is_claude_token(key):
                    yield "authorization", f"Bearer {key}"
                case Provider.OPENAI:
                    yield "authorization", f"Bearer {key}"
                case Provider.ANTHROPIC:
                    yield "x-api-key", key
                case Provider.GEMINI:
                    yield "x-goog-api-key", key


def _login_headers(login: StoredLogin) -> Iterator[tuple[str, str]]:
    yield "authorization", f"Bearer {login.access}"
    if login.account:
        yield "chatgpt-account-id", login.account


def _is_readable(stream: ByteStream) -> bool:
    """Whether the other end sent something, or closed."""
    poll = select.poll()
    raw = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - no Django here
    poll.register(raw, select.POLLIN)
    return bool(poll.poll(0))


async def _reply(http: h11.Connection, stream: ByteStream) -> UpstreamReply:
    while isinstance(event := await next_event(http, stream), h11.InformationalResponse):
        pass
    if not isinstance(event, h11.Response):
        raise ClosedUnansweredError
    headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
    if 300 <= event.status_code < 400:
        message = "the provider answered with a redirect, which is not followed"
        raise UpstreamError(message, is_permanent=True)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise UpstreamError("the provider compressed its answer, although it was asked not to")
    return UpstreamReply(event.status_code, headers, _chunks(http, stream))


async def _chunks(http: h11.Connection, stream: ByteStream) -> AsyncIterator[bytes]:
    with _as_upstream_errors():
        while isinstance(event := await next_event(http, stream), h11.Data):
            yield bytes(event.data)


def _cause_of(error: BaseException) -> str:
    """In the system's words, without numbers and addresses."""
    cause: object = error.__cause__ or error
    while isinstance(cause, BaseExceptionGroup):  # of several addresses
        cause = cause.exceptions[0]
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError):
        number = cause.errno or 0  # below zero: of a lookup of a name
        return os.strerror(number) if number > 0 else cause.strerror or str(cause)
    return str(cause)


@contextmanager
def _as_upstream_errors() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise UpstreamError("the connection to the provider timed out") from error
    except (OSError, ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        raise UpstreamError(f"the connection to the provider failed: {_cause_of(error)}") from error
    except (h11.RemoteProtocolError, h11.LocalProtocolError) as error:
        raise UpstreamError(f"the provider's answer is not valid HTTP: {error}") from error
