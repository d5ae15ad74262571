"""Sends HTTP/1.1 responses, one per connection."""

from collections.abc import Mapping
from contextlib import suppress

import anyio
from anyio.abc import ByteStream

GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""Errors after the client has closed."""


class Connection:
    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def head(
        self, status: int, headers: Mapping[str, str] | None = None, kind: str = "text/event-stream"
    ) -> None:
        """Send the head of a response of unknown length."""
        lines = {"content-type": kind, "transfer-encoding": "chunked", **(headers or {})}
        await self._stream.send(_head(status, lines))

    async def chunk(self, data: bytes) -> None:
        if data:  # an empty chunk would end the response
            await self._stream.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        await self._stream.send(b"0\r\n\r\n")

    async def whole(
        self,
        status: int,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        kind: str = "application/json",
    ) -> None:
        lines = {"content-type": kind, "content-length": str(len(body)), **(headers or {})}
        await self._stream.send(_head(status, lines) + body)

    async def gone(self) -> None:
        """Return when the client has closed."""
        with suppress(*GONE):
            while True:
                await self._stream.receive()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} -", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
