"""The HTTP of a model call: a client that takes no more than it should, and what its errors mean."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from ipaddress import ip_address
from typing import Any

import httpx2
from msgspec import Struct

from allstop.adapters.agents.api.error_kinds import CallError, Fault, broken, told
from allstop.adapters.agents.api.event_sizes import EventGauge
from allstop.core.moves import FailureKind

ERROR_BYTES = 64 * 1024
NO_KEY = "none"


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a model is served. The SDKs look for keys themselves where they are given none."""

    base_url: str
    model: str
    key: str = NO_KEY
    key_name: str = ""  # the variable it is from
    is_vendors: bool = True  # the provider's own, not merely a compatible one

    def __repr__(self) -> str:
        return f"Endpoint({self.model} at {self.base_url})"


class Bounds(Struct, frozen=True, kw_only=True):
    """Of one call."""

    connect_s: float = 15.0
    total_s: float = 600.0
    bytes: int = 32 * 1024 * 1024


class _Capped(httpx2.AsyncByteStream):
    """At most so many bytes of an answer, in events of a sensible size."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen, gauge = 0, EventGauge()
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > self._most:
                raise httpx2.ReadError(f"the answer is larger than {self._most:,} bytes")
            if not gauge.is_sane(chunk):
                raise httpx2.ReadError("the answer has an event that is far too large")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Beginning(httpx2.AsyncByteStream):
    """Of an error only so much as people may want to read."""

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


def http_client(endpoint: Endpoint, bounds: Bounds) -> httpx2.AsyncClient:
    """Follows no redirect: a key goes to the address that was configured, and nowhere else."""

    async def cap(response: httpx2.Response) -> None:
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        if response.is_success:
            _must_be_events(response)
            response.stream = _Capped(stream, bounds.bytes)
        else:
            response.stream = _Beginning(stream)

    return httpx2.AsyncClient(
        verify=_trusted(),
        timeout=httpx2.Timeout(None, connect=bounds.connect_s),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
        follow_redirects=False,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [cap]},
        trust_env=not _is_loopback(endpoint.base_url),
    )


@cache
def _trusted() -> ssl.SSLContext:
    """Reading this machine's certificates takes longer than all the rest."""
    return httpx2.create_ssl_context()


def _must_be_events(response: httpx2.Response) -> None:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise httpx2.ReadError("a page came back, not an answer of the API")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise httpx2.ReadError("the answer is compressed, which it was asked not to be")


def _is_loopback(url: str) -> bool:
    host = httpx2.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def translated(sdk: Any) -> Iterator[None]:
    """The errors of an SDK as ours. Both have the same classes, as they are generated alike."""
    try:
        yield
    except sdk.APIStatusError as error:
        headers = dict(error.response.headers)
        raise CallError(told(error.status_code, headers, error.body)) from error
    except (sdk.APITimeoutError, httpx2.TimeoutException) as error:
        why = "the provider could not be reached in time"
        raise CallError(Fault(message=why, kind=FailureKind.TIMED_OUT)) from error
    except (sdk.APIConnectionError, httpx2.HTTPError) as error:
        raise broken(f"the connection failed: {_reason(error)}") from error
    except sdk.APIError as error:
        raise CallError(told(0, {}, error.body)) from error
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8, nested without end
        raise broken(f"the answer makes no sense: {error}") from error


def _reason(error: BaseException) -> str:
    """The words of the innermost error that has any."""
    words = ""
    cause: BaseException | None = error
    while cause is not None:
        words = str(cause).strip() or words
        cause = cause.__cause__
    return words or type(error).__name__
