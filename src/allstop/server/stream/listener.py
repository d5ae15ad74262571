"""A listener of the event stream: its position, and the next bytes to send."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from allstop.server.run_messages import hold_view
from allstop.server.stream.frames import HEARTBEAT, EventFilter, Position, frame, transient_frame
from allstop.server.wire_types import Reset

if TYPE_CHECKING:
    from allstop.app.live_runs import LiveRuns
    from allstop.ports import Journal
    from allstop.server.stream.broadcast import Broadcast

PAGE = 200
_END = 10**18 - 1
"""A part number after all events of a record."""


class Listener:
    """Reads recent events; if it is too far behind, it reads the journal until it has caught up."""

    def __init__(
        self, broadcast: Broadcast, journal: Journal, filter_: EventFilter, last: Position | None
    ) -> None:
        self._broadcast = broadcast
        self._recent = broadcast.recent
        self._journal = journal
        self._filter = filter_
        self._is_new = last is None
        self._position = last or broadcast.recent.newest
        self._index = self._recent.find(self._position)
        self._heartbeats = broadcast.heartbeats

    async def chunks(self, live_runs: LiveRuns) -> AsyncIterator[bytes]:
        yield b"retry: 1000\nid: %b\n\n" % str(self._position).encode()
        if self._is_new:
            hello = frame("hold", "", hold_view(live_runs.helm), self._position)
            yield hello.wire if self._filter.matches(hello) else b""
        elif self._position.pos > self._recent.newest.pos:  # an id of another journal
            self._index = self._recent.end
            yield self._reset(lost=True)
        while not self._broadcast.is_closed:
            if self._index is None:
                yield self._reset(lost=False)
                async for chunk in self._read_journal():
                    yield chunk
            published = self._broadcast.published
            if chunk := self._read_recent():
                yield chunk
            elif self._index is not None:
                await published.wait()

    def _read_recent(self) -> bytes:
        assert self._index is not None, "its position is among the recent events"
        chunk = self._recent.since(self._index, self._filter)
        if chunk is None:
            self._index = None
            return b""
        self._index = self._recent.end
        self._position = self._recent.position_before(self._index)
        before, self._heartbeats = self._heartbeats, self._broadcast.heartbeats
        return chunk or (HEARTBEAT if before != self._heartbeats else b"")

    async def _read_journal(self) -> AsyncIterator[bytes]:
        while (index := self._recent.find(self._position)) is None:
            newest = self._recent.newest.pos
            placed = await self._journal.written(self._position.pos - 1, PAGE)
            known = [each for each in placed if each.pos <= newest]  # later ones become recent
            chunk = b""
            for each in known:
                for event in await self._broadcast.frames(each):
                    if event.position > self._position and self._filter.matches(event):
                        chunk += event.wire
            self._position = Position(known[-1].pos if known else newest, _END)
            yield chunk
        self._index = index

    def _reset(self, *, lost: bool) -> bytes:
        return transient_frame("reset", "", Reset(lost=lost), self._position).wire
