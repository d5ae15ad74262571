"""The HTTP client of model calls: limits the size of responses and translates the SDKs' errors."""

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from ipaddress import ip_address
from typing import Any

import httpx2
from msgspec import Struct

from allstop.adapters.agents.api.error_kinds import CallError, invalid_reply
from allstop.adapters.agents.provider_errors import Fault, read_fault
from allstop.core.moves import FailureKind

EVENT_BYTES = 8 * 1024 * 1024
EVENT_LINES = 400


class EventSizeCheck:
    """Checks the size of a stream's events.

    The SDKs accept events of any size, and one of them copies the whole event again for every line
    and chunk of it: an event of a few megabytes would block the program for minutes.
    """

    def __init__(self) -> None:
        self._bytes = 0
        self._lines = 0
        self._after_return = False
        self._after_line = b""

    def accepts(self, chunk: bytes) -> bool:
        """Whether every event up to the end of this chunk is small enough."""
        return all(size <= EVENT_BYTES and lines <= EVENT_LINES for size, lines in self._add(chunk))

    def _add(self, chunk: bytes) -> list[tuple[int, int]]:
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r") or (self._after_return and not chunk)
        text = self._after_line + chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._after_line = b"\n" if text.endswith(b"\n") else b""
        sizes = []
        for number, event in enumerate(text.split(b"\n\n")):
            if number:
                self._bytes = self._lines = 0
            self._bytes += len(event)
            self._lines += event.count(b"\n")
            sizes.append((self._bytes, self._lines))
        return sizes


ERROR_BYTES = 64 * 1024
NO_KEY = "none"


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a model is served. A key is always given: without one, the SDKs look for it themselves."""

    base_url: str
    model: str
    key: str = NO_KEY
    key_name: str = ""  # the environment variable that holds the key
    is_vendors: bool = True  # False: a compatible server

    def __repr__(self) -> str:
        return f"Endpoint({self.model} at {self.base_url})"


class CallLimits(Struct, frozen=True, kw_only=True):
    connect_s: float = 15.0
    total_s: float = 600.0
    bytes: int = 32 * 1024 * 1024


class _LimitedBody(httpx2.AsyncByteStream):
    """A response body that fails if it, or one of its events, is too large."""

    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen, sizes = 0, EventSizeCheck()
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > self._max_bytes:
                raise httpx2.ReadError(f"the response is larger than {self._max_bytes:,} bytes")
            if not sizes.accepts(chunk):
                raise httpx2.ReadError("the response has an event that is too large")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _ErrorBody(httpx2.AsyncByteStream):
    """The beginning of an error's body, as much as people may want to read."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = ERROR_BYTES
        async for chunk in self._stream:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


def http_client(endpoint: Endpoint, limits: CallLimits) -> httpx2.AsyncClient:
    """A client that follows no redirect, so that the key goes only to the configured address."""

    async def cap(response: httpx2.Response) -> None:
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        if response.is_success:
            _must_be_events(response)
            response.stream = _LimitedBody(stream, limits.bytes)
        else:
            response.stream = _ErrorBody(stream)

    return httpx2.AsyncClient(
        verify=_trusted(),
        timeout=httpx2.Timeout(None, connect=limits.connect_s),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
        follow_redirects=False,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [cap]},
        trust_env=not _is_loopback(endpoint.base_url),
    )


@cache
def _trusted() -> ssl.SSLContext:
    """Cached, because reading the certificates takes longer than the rest of the setup."""
    return httpx2.create_ssl_context()


def _must_be_events(response: httpx2.Response) -> None:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise httpx2.ReadError("the server sent a web page instead of an API response")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise httpx2.ReadError("the server compressed the response, although it was asked not to")


def _is_loopback(url: str) -> bool:
    host = httpx2.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def translate_errors(sdk: Any) -> Iterator[None]:
    """Raise an SDK's errors as CallError; both SDKs are generated alike, with the same classes."""
    try:
        yield
    except sdk.APIStatusError as error:
        headers = dict(error.response.headers)
        raise CallError(read_fault(error.status_code, headers, error.body)) from error
    except (sdk.APITimeoutError, httpx2.TimeoutException) as error:
        why = "the connection to the provider timed out"
        raise CallError(Fault(message=why, kind=FailureKind.TIMED_OUT)) from error
    except (sdk.APIConnectionError, httpx2.HTTPError) as error:
        raise invalid_reply(f"the connection failed: {_reason(error)}") from error
    except sdk.APIError as error:
        raise CallError(read_fault(0, {}, error.body)) from error
    except (ValueError, RecursionError) as error:  # invalid JSON or UTF-8, or nested too deeply
        raise invalid_reply(f"the response is not valid: {error}") from error


def _reason(error: BaseException) -> str:
    """The text of the innermost error that has one."""
    words = ""
    cause: BaseException | None = error
    while cause is not None:
        words = str(cause).strip() or words
        cause = cause.__cause__
    return words or type(error).__name__
