"""Somebody who listens to the stream: how far they are, and what they are sent next."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from allstop.server.run_messages import hold_view
from allstop.server.stream.frames import HEARTBEAT, Place, Wish, fleeting, frame
from allstop.server.wire_types import Reset

if TYPE_CHECKING:
    from allstop.app.live_runs import LiveRuns
    from allstop.ports import Journal
    from allstop.server.stream.broadcast import Hub

PAGE = 200
_END = 10**18 - 1
"""A part that no event has: after all that a record says."""


class Listener:
    """Reads the ring; whoever has fallen out of it reads the journal until the ring goes on."""

    def __init__(self, hub: Hub, journal: Journal, wish: Wish, last: Place | None) -> None:
        self._hub = hub
        self._ring = hub.ring
        self._journal = journal
        self._wish = wish
        self._is_new = last is None
        self._at = last or hub.ring.newest
        self._number = self._ring.find(self._at)
        self._beats = hub.heartbeats

    async def chunks(self, live_runs: LiveRuns) -> AsyncIterator[bytes]:
        yield b"retry: 1000\nid: %b\n\n" % str(self._at).encode()
        if self._is_new:
            hello = frame("hold", "", hold_view(live_runs.helm), self._at)
            yield hello.wire if self._wish.wants(hello) else b""
        elif self._at.pos > self._ring.newest.pos:  # this journal has never been there
            self._number = self._ring.end
            yield self._reset(lost=True)
        while not self._hub.is_closed:
            if self._number is None:
                yield self._reset(lost=False)
                async for chunk in self._from_journal():
                    yield chunk
            bell = self._hub.bell
            if chunk := self._next():
                yield chunk
            elif self._number is not None:
                await bell.wait()

    def _next(self) -> bytes:
        """What the ring has for them, if they are still in it."""
        assert self._number is not None, "it was found in the ring"
        chunk = self._ring.since(self._number, self._wish)
        if chunk is None:
            self._number = None
            return b""
        self._number = self._ring.end
        self._at = self._ring.place_before(self._number)
        beats, self._beats = self._beats, self._hub.heartbeats
        return chunk or (HEARTBEAT if beats != self._beats else b"")

    async def _from_journal(self) -> AsyncIterator[bytes]:
        while (number := self._ring.find(self._at)) is None:
            newest = self._ring.newest.pos
            placed = await self._journal.written(self._at.pos - 1, PAGE)
            known = [each for each in placed if each.pos <= newest]  # the ring will have the rest
            chunk = b""
            for each in known:
                for told in await self._hub.frames(each):
                    if told.place > self._at and self._wish.wants(told):
                        chunk += told.wire
            self._at = Place(known[-1].pos if known else newest, _END)
            yield chunk
        self._number = number

    def _reset(self, *, lost: bool) -> bytes:
        return fleeting("reset", "", Reset(lost=lost), self._at).wire
