"""Sends requests to the model's real address, with the real key."""

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import urlsplit

import anyio
import h11
from anyio.abc import ByteStream
from msgspec import Struct

from allstop import __version__
from allstop.adapters.gateway.http_events import MAX_HEAD_BYTES, next_event
from allstop.metering.wire_formats import Provider

CONNECT_TIMEOUT_S = 15.0

PASSED_REQUEST_HEADERS = frozenset({
    "accept", "anthropic-beta", "anthropic-version", "content-type", "conversation_id",
    "openai-beta", "originator", "session_id", "user-agent", "version", "x-app",
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
    key: str  # "" if the server needs none
    is_vendors: bool = True  # False: a compatible server

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


class Upstream:
    """Opens one connection for each request. It follows no redirect, and no proxy."""

    def __init__(self, target: Target, tls: ssl.SSLContext) -> None:
        self._target = target
        self._tls = tls
        place = urlsplit(target.base_url)
        self._is_tls = place.scheme == "https"
        self._host = place.hostname or ""
        self._port = place.port or (443 if self._is_tls else 80)
        self._netloc = place.netloc.rpartition("@")[2]
        self._base_path = place.path.rstrip("/")

    @asynccontextmanager
    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncIterator[UpstreamReply]:
        """`path`: below the base address. Raises UpstreamError."""
        stream = await self._connect()
        try:
            http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
            with _as_upstream_errors():
                request = h11.Request(
                    method=method,
                    target=self._base_path + path,
                    headers=self._headers(headers, body),
                )
                events = [request, *([h11.Data(data=body)] if body else []), h11.EndOfMessage()]
                await stream.send(b"".join(http.send(event) or b"" for event in events))
                reply = await _reply(http, stream)
            yield reply
        finally:
            await anyio.aclose_forcefully(stream)

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

    def _headers(self, headers: Mapping[str, str], body: bytes) -> list[tuple[bytes, bytes]]:
        passed = {name: headers[name] for name in PASSED_REQUEST_HEADERS if name in headers}
        given = [
            ("host", self._netloc),
            *{"user-agent": f"allstop/{__version__}", **passed}.items(),
            *self._authorization(),
            ("accept-encoding", "identity"),
            ("connection", "close"),
            *([("content-length", str(len(body)))] if body else []),
        ]
        return [(name.encode(), value.encode("latin-1")) for name, value in given]  # any byte

    def _authorization(self) -> Iterator[tuple[str, str]]:
        if key := self._target.key:
            match self._target.provider:
                case Provider.OPENAI:
                    yield "authorization", f"Bearer {key}"
                case Provider.ANTHROPIC:
                    yield "x-api-key", key
                case Provider.GEMINI:
                    yield "x-goog-api-key", key


async def _reply(http: h11.Connection, stream: ByteStream) -> UpstreamReply:
    while isinstance(event := await next_event(http, stream), h11.InformationalResponse):
        pass
    if not isinstance(event, h11.Response):
        raise UpstreamError("the provider closed the connection without an answer")
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


@contextmanager
def _as_upstream_errors() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise UpstreamError("the connection to the provider timed out") from error
    except (OSError, ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        raise UpstreamError(
            f"the connection to the provider failed: {error.__cause__ or error}"
        ) from error
    except (h11.RemoteProtocolError, h11.LocalProtocolError) as error:
        raise UpstreamError(f"the provider's answer is not valid HTTP: {error}") from error
