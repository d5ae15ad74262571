"""Replies that break on their way: cut, spoiled, silent, endless."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import anyio

from allstop.testing.model_server.connections import Connection
from allstop.testing.model_server.replies import Fault, Say

ENDLESS_BYTES = 256 * 1024 * 1024

Break = Callable[[Connection, Say, list[bytes]], Awaitable[None]]


async def _close(caller: Connection, say: Say, events: list[bytes]) -> None:
    """The connection is closed after every reply, and so after none."""


async def _page(caller: Connection, say: Say, events: list[bytes]) -> None:
    await caller.whole(200, b"<html><body>Sign in</body></html>", kind="text/html")


async def _cut(caller: Connection, say: Say, events: list[bytes]) -> None:
    await caller.head(200)
    await caller.chunk(b"".join(events[: len(events) // 2]))


async def _silence(caller: Connection, say: Say, events: list[bytes]) -> None:
    await caller.head(200)
    await anyio.sleep_forever()


async def _drip(caller: Connection, say: Say, events: list[bytes]) -> None:
    await caller.head(200)
    for byte in b"".join(events):
        await anyio.sleep(say.pause_s or 0.02)
        await caller.chunk(bytes([byte]))
    await caller.end()


async def _endless_line(caller: Connection, say: Say, events: list[bytes]) -> None:
    await caller.head(200)
    await caller.chunk(b"data: ")
    await _flood(caller, b"x" * 65536)


async def _endless_words(caller: Connection, say: Say, events: list[bytes]) -> None:
    first = json.dumps(say.deltas[0]).encode()
    begun = next(place for place, event in enumerate(events) if first in event)
    await caller.head(200)
    await caller.chunk(b"".join(events[:begun]))
    await _flood(caller, events[begun].replace(first, b'"%b"' % (b"x" * 32768)))


async def _endless_error(caller: Connection, say: Say, events: list[bytes]) -> None:
    await caller.head(500, kind="application/json")
    await _flood(caller, b"x" * 65536)


async def _garbage(caller: Connection, say: Say, events: list[bytes]) -> None:
    await caller.head(200)
    await caller.chunk(bytes(range(256)) * 40 + b"\n\ndata: {\n\n")
    await caller.end()


async def _spoil(with_: bytes, caller: Connection, say: Say, events: list[bytes]) -> None:
    """Put something in place of the first delta's text."""
    first = json.dumps(say.deltas[0]).encode()
    await caller.head(200)
    await caller.chunk(b"".join(events).replace(first, with_))
    await caller.end()


async def _flood(caller: Connection, chunk: bytes) -> None:
    for _ in range(0, ENDLESS_BYTES, len(chunk)):
        await caller.chunk(chunk)
    await caller.end()


BROKEN: Mapping[Fault | None, Break] = {
    Fault.CLOSED: _close,
    Fault.HTML: _page,
    Fault.CUT: _cut,
    Fault.SILENCE: _silence,
    Fault.DRIP: _drip,
    Fault.ENDLESS_LINE: _endless_line,
    Fault.ENDLESS_WORDS: _endless_words,
    Fault.ENDLESS_ERROR: _endless_error,
    Fault.GARBAGE: _garbage,
    Fault.BROKEN_JSON: partial(_spoil, b'"zeb"ra'),
    Fault.WRONG_TYPES: partial(_spoil, b'["zebra"]'),
    Fault.NESTED: partial(_spoil, b"[" * 200_000 + b"]" * 200_000),
    Fault.BAD_UTF8: partial(_spoil, b'"z\xff\xfebra"'),
}
