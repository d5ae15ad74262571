"""Broadcasts events to all listeners: each batch is encoded once, at most 50 times a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from allstop.core.events import Closed, MoveEnded
from allstop.core.ids import RunId
from allstop.ports import Live, PositionedRecord
from allstop.server.stream.frames import (
    Frame,
    Position,
    frame,
    record_frames,
    transient_frame,
)
from allstop.server.stream.recent_events import RecentEvents
from allstop.server.stream.text_in_flight import LiveTexts, Source, join_text
from allstop.server.stream.view_changes import COUNT_S, ViewChanges

if TYPE_CHECKING:
    from allstop.app.live_runs import LiveRuns

BATCH_DELAY_S = 0.02
DELAY_PER_LISTENER_S = 0.00025
MAX_BATCH_DELAY_S = 0.25
"""Sending costs about the same for any number of events, so more listeners mean fewer batches."""

HEARTBEAT_S = 15.0
PAGE = 200
MAX_LIVE_CHARS = 20_000
"""Characters of one run's live text in one batch; the beginning of a longer text is cut."""


class Broadcast:
    def __init__(self, live_runs: LiveRuns, changes: ViewChanges, recent: RecentEvents) -> None:
        self._live_runs = live_runs
        self._changes = changes
        self.recent = recent
        self._placed: list[PositionedRecord] = []
        self._live: dict[Source, str] = {}
        self.live_texts = LiveTexts(lambda: int(live_runs.now.timestamp() * 1_000_000))
        self._has_news = anyio.Event()
        self.published = anyio.Event()  # set after each batch, then replaced
        self.batches = 0
        self.heartbeats = 0
        self.is_closed = False
        self.listeners = 0

    def add_records(self, placed: Sequence[PositionedRecord]) -> None:
        self._placed += placed
        self._has_news.set()

    def add_text(self, run: RunId, live: Live, call: str = "") -> None:
        """Add live text: the texts of one batch become one event. `queued` changes the run's view."""
        if live.kind == "queued":
            self._live_runs.queue(run, live.text)
            self._changes.mark(run)
            self._has_news.set()
            return
        key = Source(run, live.kind, call)
        self._live[key] = join_text(key, self._live.get(key, ""), live.text)[-MAX_LIVE_CHARS:]
        self._has_news.set()

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        self._wake_listeners()

    async def run(self) -> None:
        """Runs until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._heartbeats)
            group.start_soon(self._counts)
            while True:
                await self._has_news.wait()
                await anyio.sleep(batch_delay_s(self.listeners))
                self._has_news = anyio.Event()
                await self._publish()
                self._wake_listeners()

    async def _heartbeats(self) -> None:
        while True:
            await anyio.sleep(HEARTBEAT_S)
            self.heartbeats += 1
            self._changes.mark_all()
            self._has_news.set()

    async def _counts(self) -> None:
        while True:
            await anyio.sleep(COUNT_S)
            if self._changes.has_uncounted:
                self._has_news.set()

    async def _publish(self) -> None:
        placed, self._placed = self._placed, []
        live, self._live = self._live, {}
        over: set[RunId] = set()
        for number, each in enumerate(placed):
            self.recent.put(await self.frames(each))
            self._changes.note(each.record)
            if isinstance(each.record.event, MoveEnded | Closed):
                self.live_texts.forget(each.record.run)
                over.add(each.record.run)
            if number % PAGE == PAGE - 1:
                await anyio.lowlevel.checkpoint()
        newest = self.recent.newest
        self.recent.put(
            transient_frame("live", source.run, self.live_texts.add(source, text), newest)
            for source, text in live.items()
        )
        for source, text in live.items():
            self.recent.put(await self._output(source, text, newest))
        for run in over:  # other text may belong to the next turn; a gate's does not
            self.live_texts.forget(run, "check")
        views = [each async for each in self._changes.changed_views()]
        self.recent.put(
            frame(kind, run, value, Position(newest.pos, newest.part + number))
            for number, (kind, run, value) in enumerate(views, start=1)
        )

    async def frames(self, placed: PositionedRecord) -> list[Frame]:
        """Return the frames of one record; they are the same each time."""
        run, seq, _ = placed.record
        kind = self._live_runs.known_kind(run)
        if kind is None or not kind.message_event:
            return list(record_frames(placed))
        messages = (await self._live_runs.run(run)).messages_at(seq)
        return list(record_frames(placed, kind.message_event, messages))

    async def _output(self, source: Source, text: str, newest: Position) -> list[Frame]:
        """The message for live text of an agent, if the run's kind has one."""
        kind = self._live_runs.known_kind(source.run)
        if kind is None or not kind.message_event or source.kind != "text":
            return []
        state = (await self._live_runs.run(source.run)).state
        message = kind.output(state, text, self._live_runs.now)
        if message is None:
            return []
        return [transient_frame(kind.message_event, source.run, message, newest)]

    def _wake_listeners(self) -> None:
        self.batches += 1
        published, self.published = self.published, anyio.Event()
        published.set()


def batch_delay_s(listeners: int) -> float:
    return min(max(BATCH_DELAY_S, listeners * DELAY_PER_LISTENER_S), MAX_BATCH_DELAY_S)
