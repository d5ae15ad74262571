"""The HTTP client of model calls: streams events, and limits the size of responses."""

import json
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from ipaddress import ip_address
from typing import Any

import httpx2
from msgspec import Struct

from allstop import __version__
from allstop.adapters.agents.api.error_kinds import CallError, invalid_reply
from allstop.adapters.agents.provider_errors import Fault, read_fault
from allstop.core.moves import FailureKind
from allstop.metering.event_stream import EventDecoder

ERROR_BYTES = 64 * 1024
NO_KEY = "none"
END_OF_STREAM = b"[DONE]"  # of OpenAI's streams


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a model is served."""

    base_url: str
    model: str
    key: str = NO_KEY
    key_name: str = ""  # the environment variable that holds the key
    is_vendors: bool = True  # False: a compatible server
    provider: str = ""  # for the record of calls

    def __repr__(self) -> str:
        return f"Endpoint({self.model} at {self.base_url})"

    @property
    def address(self) -> str:
        """The address for people, without a user name or password."""
        url = httpx2.URL(self.base_url)
        return f"{url.scheme}://{url.netloc.decode().rpartition('@')[2]}"


class CallLimits(Struct, frozen=True, kw_only=True):
    connect_s: float = 15.0
    total_s: float = 600.0
    bytes: int = 32 * 1024 * 1024


class ModelClient:
    """Sends requests to one endpoint and reads the events of the responses.

    It follows no redirect, so that the key goes only to the configured address.
    """

    def __init__(
        self, endpoint: Endpoint, limits: CallLimits, headers: Mapping[str, str] | None = None
    ) -> None:
        self._base_url = endpoint.base_url.rstrip("/")
        self._max_bytes = limits.bytes
        self.last_headers: Mapping[str, str] = {}  # of the last response
        self.last_status = 0
        self._client = httpx2.AsyncClient(
            verify=trusted(),
            timeout=httpx2.Timeout(None, connect=limits.connect_s),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            follow_redirects=False,
            headers={
                "user-agent": f"allstop/{__version__}",
                "accept-encoding": "identity",
                "authorization": f"Bearer {endpoint.key}",
                **(headers or {}),
            },
            trust_env=not _is_loopback(endpoint.base_url),
        )

    @asynccontextmanager
    async def stream(
        self, path: str, body: dict[str, Any]
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Post the body and give the events of the response. Raises CallError."""
        with _translate_errors():
            async with self._client.stream(
                "POST", self._base_url + path, json={**body, "stream": True}
            ) as response:
                self.last_headers, self.last_status = dict(response.headers), response.status_code
                if not response.is_success:
                    error = _json_or_text(await _beginning(response))
                    raise CallError(read_fault(response.status_code, self.last_headers, error))
                _must_be_events(response)
                yield self._events(response)

    async def close(self) -> None:
        await self._client.aclose()

    async def _events(self, response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
        decoder, seen = EventDecoder(), 0
        async for chunk in response.aiter_raw():
            seen += len(chunk)
            if seen > self._max_bytes:
                raise invalid_reply(f"the response is larger than {self._max_bytes:,} bytes")
            for data in decoder.feed(chunk):
                if data == END_OF_STREAM:
                    return
                event = json.loads(data)  # `msgspec` rejects half a surrogate pair
                if not isinstance(event, dict):
                    raise invalid_reply("the response has an event that is no object")
                if event.get("error"):
                    raise CallError(read_fault(0, {}, event))
                yield event


async def _beginning(response: httpx2.Response) -> bytes:
    """The beginning of an error's body, as much as people may want to read."""
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) >= ERROR_BYTES:
            break
    return bytes(body[:ERROR_BYTES])


def _json_or_text(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode(errors="replace")


@cache
def trusted() -> ssl.SSLContext:
    """Cached, because reading the certificates takes longer than the rest of the setup."""
    return httpx2.create_ssl_context()


def _must_be_events(response: httpx2.Response) -> None:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise invalid_reply("the server sent a web page instead of an API response")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise invalid_reply("the server compressed the response, although it was asked not to")


def _is_loopback(url: str) -> bool:
    host = httpx2.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise the errors of the connection and of decoding as CallError."""
    try:
        yield
    except httpx2.TimeoutException as error:
        why = "the connection to the provider timed out"
        raise CallError(Fault(message=why, kind=FailureKind.TIMED_OUT)) from error
    except httpx2.HTTPError as error:
        raise invalid_reply(f"the connection failed: {_reason(error)}") from error
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
