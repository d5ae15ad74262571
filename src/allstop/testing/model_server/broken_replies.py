"""Sends broken replies: cut off, corrupted, silent or endless."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import anyio

from allstop.testing.model_server.connections import Connection
from allstop.testing.model_server.replies import Fault, Say

ENDLESS_BYTES = 256 * 1024 * 1024

SendBroken = Callable[[Connection, Say, list[bytes]], Awaitable[None]]


async def _close(connection: Connection, say: Say, events: list[bytes]) -> None:
    """Send nothing; the server closes the connection after every reply."""


async def _page(connection: Connection, say: Say, events: list[bytes]) -> None:
    await connection.whole(200, b"<html><body>Sign in</body></html>", kind="text/html")


async def _cut(connection: Connection, say: Say, events: list[bytes]) -> None:
    await connection.head(200)
    await connection.chunk(b"".join(events[: len(events) // 2]))


async def _silence(connection: Connection, say: Say, events: list[bytes]) -> None:
    await connection.head(200)
    await anyio.sleep_forever()


async def _drip(connection: Connection, say: Say, events: list[bytes]) -> None:
    await connection.head(200)
    for byte in b"".join(events):
        await anyio.sleep(say.pause_s or 0.02)
        await connection.chunk(bytes([byte]))
    await connection.end()


async def _endless_line(connection: Connection, say: Say, events: list[bytes]) -> None:
    await connection.head(200)
    await connection.chunk(b"data: ")
    await _flood(connection, b"x" * 65536)


async def _endless_words(connection: Connection, say: Say, events: list[bytes]) -> None:
    first = json.dumps(say.deltas[0]).encode()
    start = next(index for index, event in enumerate(events) if first in event)
    await connection.head(200)
    await connection.chunk(b"".join(events[:start]))
    await _flood(connection, events[start].replace(first, b'"%b"' % (b"x" * 32768)))


async def _endless_error(connection: Connection, say: Say, events: list[bytes]) -> None:
    await connection.head(500, kind="application/json")
    await _flood(connection, b"x" * 65536)


async def _garbage(connection: Connection, say: Say, events: list[bytes]) -> None:
    await connection.head(200)
    await connection.chunk(bytes(range(256)) * 40 + b"\n\ndata: {\n\n")
    await connection.end()


async def _corrupt(with_: bytes, connection: Connection, say: Say, events: list[bytes]) -> None:
    """Replace the text of the first delta."""
    first = json.dumps(say.deltas[0]).encode()
    await connection.head(200)
    await connection.chunk(b"".join(events).replace(first, with_))
    await connection.end()


async def _flood(connection: Connection, chunk: bytes) -> None:
    for _ in range(0, ENDLESS_BYTES, len(chunk)):
        await connection.chunk(chunk)
    await connection.end()


BROKEN: Mapping[Fault | None, SendBroken] = {
    Fault.CLOSED: _close,
    Fault.HTML: _page,
    Fault.CUT: _cut,
    Fault.SILENCE: _silence,
    Fault.DRIP: _drip,
    Fault.ENDLESS_LINE: _endless_line,
    Fault.ENDLESS_WORDS: _endless_words,
    Fault.ENDLESS_ERROR: _endless_error,
    Fault.GARBAGE: _garbage,
    Fault.BROKEN_JSON: partial(_corrupt, b'"zeb"ra'),
    Fault.WRONG_TYPES: partial(_corrupt, b'["zebra"]'),
    Fault.NESTED: partial(_corrupt, b"[" * 200_000 + b"]" * 200_000),
    Fault.BAD_UTF8: partial(_corrupt, b'"z\xff\xfebra"'),
}
