"""Says what happens to all who listen: put together once, a few dozen times a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from allstop.core.events import Closed, MoveEnded
from allstop.core.ids import RunId
from allstop.ports import Live, PositionedRecord
from allstop.server.stream.frames import Frame, Place, fleeting, frame, of_record
from allstop.server.stream.recent_events import Ring
from allstop.server.stream.text_in_flight import Source, Spoken, joined
from allstop.server.stream.view_changes import COUNT_S, Changes

if TYPE_CHECKING:
    from allstop.app.live_runs import LiveRuns

BEAT_S = 0.02
BEAT_A_LISTENER_S = 0.00025
LONGEST_BEAT_S = 0.25
"""To send costs the same for few events as for many: the more listen, the rarer it is done."""

HEARTBEAT_S = 15.0
PAGE = 200
LONGEST_LIVE = 20_000
"""Characters of one run's live text in one beat; what is more is cut: it is only shown."""


class Hub:
    """One ring for all; whoever falls out of it is sent the same from the journal."""

    def __init__(self, live_runs: LiveRuns, changes: Changes, ring: Ring) -> None:
        self._live_runs = live_runs
        self._changes = changes
        self.ring = ring
        self._placed: list[PositionedRecord] = []
        self._live: dict[Source, str] = {}
        self.spoken = Spoken(lambda: int(live_runs.now.timestamp() * 1_000_000))
        self._stirred = anyio.Event()
        self.bell = anyio.Event()  # rings for all who listen; then there is another
        self.beats = 0
        self.heartbeats = 0
        self.is_closed = False
        self.listeners = 0

    # --- what comes in ---

    def hear(self, placed: Sequence[PositionedRecord]) -> None:
        self._placed += placed
        self._stirred.set()

    def show(self, run: RunId, live: Live, call: str = "") -> None:
        """Words in flight: those of one beat are one event. That it waits is no word of the agent."""
        if live.kind == "queued":
            self._live_runs.queue(run, live.text)
            self._changes.suspect(run)
            self._stirred.set()
            return
        key = Source(run, live.kind, call)
        self._live[key] = joined(key, self._live.get(key, ""), live.text)[-LONGEST_LIVE:]
        self._stirred.set()

    def close(self) -> None:
        """Everybody who listens is let go, now."""
        self.is_closed = True
        self._ring_bell()

    # --- the beat ---

    async def beat(self) -> None:
        """Runs until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._heartbeats)
            group.start_soon(self._counts)
            while True:
                await self._stirred.wait()
                await anyio.sleep(beat_s(self.listeners))
                self._stirred = anyio.Event()
                await self._gather()
                self._ring_bell()

    async def _heartbeats(self) -> None:
        while True:
            await anyio.sleep(HEARTBEAT_S)
            self.heartbeats += 1
            self._changes.suspect_all()
            self._stirred.set()

    async def _counts(self) -> None:
        while True:
            await anyio.sleep(COUNT_S)
            if self._changes.has_uncounted:
                self._stirred.set()

    async def _gather(self) -> None:
        placed, self._placed = self._placed, []
        live, self._live = self._live, {}
        over: set[RunId] = set()
        for number, each in enumerate(placed):
            self.ring.put(await self.frames(each))
            self._changes.note(each.record)
            if isinstance(each.record.event, MoveEnded | Closed):
                self.spoken.forget(each.record.run)
                over.add(each.record.run)
            if number % PAGE == PAGE - 1:
                await anyio.lowlevel.checkpoint()
        newest = self.ring.newest
        self.ring.put(
            fleeting("live", source.run, self.spoken.add(source, text), newest)
            for source, text in live.items()
        )
        for run in over:  # words may be those of the next turn; what a gate said last is not
            self.spoken.forget(run, "check")
        views = [each async for each in self._changes.found()]
        self.ring.put(
            frame(kind, run, value, Place(newest.pos, newest.part + number))
            for number, (kind, run, value) in enumerate(views, start=1)
        )

    async def frames(self, placed: PositionedRecord) -> list[Frame]:
        """What one record says, now as ever."""
        run, seq, _ = placed.record
        if not self._live_runs.has_messages(run):
            return list(of_record(placed, ()))
        return list(of_record(placed, (await self._live_runs.run(run)).messages_at(seq)))

    def _ring_bell(self) -> None:
        self.beats += 1
        bell, self.bell = self.bell, anyio.Event()
        bell.set()


def beat_s(listeners: int) -> float:
    return min(max(BEAT_S, listeners * BEAT_A_LISTENER_S), LONGEST_BEAT_S)
