"""Deadlines of a move: total time and idle time; both clocks stop while the move is held."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import anyio
from msgspec import Struct

from allstop.core.asks import Answer, Ask
from allstop.core.moves import FailureKind, Item
from allstop.ports import Live, Watch

MAX_STALE = 1000
"""Number of stale queue entries after which they are removed."""


class Deadlines(Struct, eq=False):
    """The total and the idle deadline of some work.

    When one of them passes, the timer cancels `scope`.
    """

    _timer: DeadlineTimer
    _left_s: float
    _idle_s: float
    scope: anyio.CancelScope
    was_cut: bool = False
    kind: FailureKind = FailureKind.TIMED_OUT
    why: str = ""  # why it was called off, if not for its time
    deadline: float = math.inf
    scheduled: float = math.inf  # the deadline in the timer's queue
    _since: float = 0.0
    _active_at: float = 0.0
    was_held: bool = False
    _holds: int = 0
    _held_at: float = 0.0
    _held_s: float = 0.0
    _parts: tuple[Deadlines, ...] = ()  # held and released together with this one

    def start(self, now: float) -> None:
        self._since = self._active_at = now
        self.deadline = now + min(self._left_s, self._idle_s)

    @property
    def held_s(self) -> float:
        """Seconds for which the clocks were held."""
        return self._held_s + (anyio.current_time() - self._held_at if self._holds else 0.0)

    @property
    def stalled(self) -> bool:
        """Whether the idle deadline is the earlier one."""
        return self._active_at + self._idle_s <= self._since + self._left_s

    def cut(self) -> None:
        """Cancel the work now."""
        self.was_cut = True
        self.scope.cancel()

    def call_off(self, kind: FailureKind, why: str) -> None:
        """Cancel the work, or its current parts, as if their time were up."""
        for part in self._parts:
            part.call_off(kind, why)
        if self._parts:
            return
        self.kind, self.why = kind, why
        self.scope.cancel()

    def clear(self) -> None:
        """Remove both deadlines; the work can still be cut."""
        self._left_s = self._idle_s = math.inf
        self._set()

    def touch(self) -> None:
        """Restart the idle clock."""
        if self._idle_s != math.inf:
            self._active_at = anyio.current_time()
            self._set()

    @contextmanager
    def part(self, most_s: float) -> Iterator[Deadlines]:
        """Deadlines for a part of the work, held together with the whole."""
        with self._timer.deadlines(most_s) as part:
            for _ in range(self._holds):
                part.hold()
            self._parts = (*self._parts, part)
            try:
                yield part
            finally:
                self._parts = tuple(each for each in self._parts if each is not part)

    def hold(self) -> None:
        """Stop the clocks. Holds are counted: each needs its own `release`."""
        self._holds += 1
        for part in self._parts:
            part.hold()
        if self._holds == 1:
            self.was_held = True
            self._held_at = anyio.current_time()
            self._left_s -= self._held_at - self._since
            self._set()

    def release(self) -> None:
        self._holds -= 1
        for part in self._parts:
            part.release()
        if self._holds == 0:
            now = anyio.current_time()
            self._held_s += now - self._held_at
            self.start(now)
            self._timer.schedule(self)

    def _set(self) -> None:
        if self._holds:
            self.deadline = math.inf
        else:
            self.deadline = min(self._since + self._left_s, self._active_at + self._idle_s)
        self._timer.schedule(self)


class DeadlineTimer:
    """Cancels work that is past its deadline, with one timer for all work.

    Started work is queued only at the timer's next wake-up, because most work ends before that. A
    deadline that moves later or is removed costs nothing: its queue entry turns out to be early
    when its time comes.
    """

    def __init__(self) -> None:
        self._begun: set[Deadlines] = set()  # to be queued
        self._queue: list[tuple[float, int, Deadlines]] = []
        self._sequence = count()
        self._stale = 0
        self._wakes_at = math.inf
        self._was_woken = True  # no wake-up is needed before `keep` runs
        self._wake_event = anyio.Event()

    @contextmanager
    def deadlines(self, most_s: float, idle_s: float = math.inf) -> Iterator[Deadlines]:
        deadlines = self.begin(most_s, idle_s)
        try:
            yield deadlines
        finally:
            self.end(deadlines)

    def begin(
        self, most_s: float, idle_s: float = math.inf, scope: anyio.CancelScope | None = None
    ) -> Deadlines:
        deadlines = Deadlines(self, most_s, idle_s, scope or anyio.CancelScope())
        deadlines.start(anyio.current_time())
        self._begun.add(deadlines)
        if deadlines.deadline < self._wakes_at and not self._was_woken:
            self._wake()
        return deadlines

    def end(self, deadlines: Deadlines) -> None:
        deadlines.deadline = math.inf
        self._begun.discard(deadlines)
        if deadlines.scheduled == math.inf:
            return
        self._stale += 1
        if self._stale > MAX_STALE and self._stale * 2 > len(self._queue):
            self._sweep()

    def _sweep(self) -> None:
        """Remove stale entries. Held deadlines are queued again by `release`."""
        for _, _, deadlines in self._queue:
            if deadlines.deadline == math.inf:
                deadlines.scheduled = math.inf
        self._queue = [entry for entry in self._queue if entry[2].deadline != math.inf]
        heapq.heapify(self._queue)
        self._stale = 0

    def schedule(self, deadlines: Deadlines) -> None:
        """Queue a changed deadline."""
        deadline = deadlines.deadline
        if deadline < deadlines.scheduled:
            deadlines.scheduled = deadline
            heapq.heappush(self._queue, (deadline, next(self._sequence), deadlines))
            if deadline < self._wakes_at and not self._was_woken:
                self._wake()

    def _wake(self) -> None:
        self._was_woken = True
        self._wake_event.set()

    async def keep(self) -> None:
        """Enforce deadlines until cancelled."""
        while True:
            now = anyio.current_time()
            for deadlines in self._begun:
                self.schedule(deadlines)
            self._begun.clear()
            while self._queue and self._queue[0][0] <= now:
                self._look(heapq.heappop(self._queue), now)
            self._wakes_at = self._queue[0][0] if self._queue else math.inf
            self._was_woken, self._wake_event = False, anyio.Event()
            with anyio.move_on_after(self._wakes_at - now):
                await self._wake_event.wait()

    def _look(self, entry: tuple[float, int, Deadlines], now: float) -> None:
        scheduled, _, deadlines = entry
        if deadlines.scheduled != scheduled:
            return  # an earlier entry has replaced this one
        deadlines.scheduled = math.inf
        if deadlines.deadline <= now:
            deadlines.scope.cancel()
        else:
            self.schedule(deadlines)


class ActivityWatch(Struct):
    _watch: Watch
    deadlines: Deadlines

    def live(self, live: Live) -> None:
        self.deadlines.touch()
        self._watch.live(live)

    async def opened(self, thread: str) -> None:
        await self._watch.opened(thread)

    async def saw(self, item: Item) -> None:
        self.deadlines.touch()
        await self._watch.saw(item)

    async def words(self) -> str:
        return await self._watch.words()

    async def reached(self) -> None:
        await self._watch.reached()

    async def ask(self, ask: Ask) -> Answer:
        self.deadlines.hold()  # the agent isn't idle while a person decides
        try:
            return await self._watch.ask(ask)
        finally:
            self.deadlines.release()
