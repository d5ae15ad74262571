"""How long a move may last, and how long it may be silent; neither counts while it is frozen."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import anyio
from msgspec import Struct

from allstop.core.moves import FailureKind

LITTER = 1000
"""Entries that no longer matter, at which they are swept up."""


class Deadlines(Struct, eq=False):
    """Two deadlines around a piece of work: for the whole of it, and since the last sign of life.

    What is inside its `scope` is cut off when one of them passes.
    """

    _keeper: Timekeeper
    _left_s: float
    _idle_s: float
    scope: anyio.CancelScope
    was_cut: bool = False
    kind: FailureKind = FailureKind.TIMED_OUT
    why: str = ""  # it was called off, if not for its time
    deadline: float = math.inf
    noted: float = math.inf  # the deadline that the timekeeper knows of
    _since: float = 0.0
    _heard_at: float = 0.0
    was_held: bool = False
    _holds: int = 0
    _held_at: float = 0.0
    _held_s: float = 0.0
    _part: Deadlines | None = None  # held together with this

    @property
    def ran_out(self) -> bool:
        return self.scope.cancelled_caught

    def start(self, now: float) -> None:
        """Start the clocks."""
        self._since = self._heard_at = now
        self.deadline = now + min(self._left_s, self._idle_s)

    @property
    def held_s(self) -> float:
        """How long its clocks were held."""
        return self._held_s + (anyio.current_time() - self._held_at if self._holds else 0.0)

    @property
    def stalled(self) -> bool:
        """Whether it was the silence that was too long, rather than the whole."""
        return self._heard_at + self._idle_s <= self._since + self._left_s

    def cut(self) -> None:
        """End the work now."""
        self.was_cut = True
        self.scope.cancel()

    def call_off(self, kind: FailureKind, why: str) -> None:
        """End the work, or the part of it that is under way, as if its time were up."""
        if self._part:
            self._part.call_off(kind, why)
            return
        self.kind, self.why = kind, why
        self.scope.cancel()

    def relax(self) -> None:
        """No deadline any more; it can still be cut."""
        self._left_s = self._idle_s = math.inf
        self._set()

    def touch(self) -> None:
        """A sign of life."""
        if self._idle_s != math.inf:
            self._heard_at = anyio.current_time()
            self._set()

    @contextmanager
    def part(self, most_s: float) -> Iterator[Deadlines]:
        """For a part of the work, which is held together with the whole."""
        with self._keeper.deadlines(most_s) as part:
            for _ in range(self._holds):
                part.hold()
            self._part = part
            try:
                yield part
            finally:
                self._part = None

    def hold(self) -> None:
        """Stop the clocks. Holds are counted: every one needs its own `release`."""
        self._holds += 1
        if self._part:
            self._part.hold()
        if self._holds == 1:
            self.was_held = True
            self._held_at = anyio.current_time()
            self._left_s -= self._held_at - self._since
            self._set()

    def release(self) -> None:
        self._holds -= 1
        if self._part:
            self._part.release()
        if self._holds == 0:
            now = anyio.current_time()
            self._held_s += now - self._held_at
            self.start(now)
            self._keeper.mind(self)

    def _set(self) -> None:
        if self._holds:
            self.deadline = math.inf
        else:
            self.deadline = min(self._since + self._left_s, self._heard_at + self._idle_s)
        self._keeper.mind(self)


class Timekeeper:
    """Cuts off what is past its deadline, with one timer for everything.

    Work that has begun is put in line when the keeper looks next: nearly all is done long before. A
    deadline that moves away or is no longer needed costs nothing: its entry is found to be early
    when its time comes.
    """

    def __init__(self) -> None:
        self._begun: set[Deadlines] = set()  # to be put in line
        self._line: list[tuple[float, int, Deadlines]] = []
        self._numbers = count()
        self._litter = 0
        self._looks_at = math.inf
        self._called = True  # nobody needs to be woken before it keeps time
        self._call = anyio.Event()

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
        if deadlines.deadline < self._looks_at and not self._called:
            self._wake()
        return deadlines

    def end(self, deadlines: Deadlines) -> None:
        deadlines.deadline = math.inf
        self._begun.discard(deadlines)
        if deadlines.noted == math.inf:
            return
        self._litter += 1
        if self._litter > LITTER and self._litter * 2 > len(self._line):
            self._sweep()

    def _sweep(self) -> None:
        """What is only held comes into line again with its release."""
        for _, _, deadlines in self._line:
            if deadlines.deadline == math.inf:
                deadlines.noted = math.inf
        self._line = [entry for entry in self._line if entry[2].deadline != math.inf]
        heapq.heapify(self._line)
        self._litter = 0

    def mind(self, deadlines: Deadlines) -> None:
        """Its deadline has changed."""
        deadline = deadlines.deadline
        if deadline < deadlines.noted:
            deadlines.noted = deadline
            heapq.heappush(self._line, (deadline, next(self._numbers), deadlines))
            if deadline < self._looks_at and not self._called:
                self._wake()

    def _wake(self) -> None:
        self._called = True
        self._call.set()

    async def keep(self) -> None:
        """Runs until cancelled; while it doesn't, no deadline counts."""
        while True:
            now = anyio.current_time()
            for deadlines in self._begun:
                self.mind(deadlines)
            self._begun.clear()
            while self._line and self._line[0][0] <= now:
                self._look(heapq.heappop(self._line), now)
            self._looks_at = self._line[0][0] if self._line else math.inf
            self._called, self._call = False, anyio.Event()
            with anyio.move_on_after(self._looks_at - now):
                await self._call.wait()

    def _look(self, entry: tuple[float, int, Deadlines], now: float) -> None:
        noted, _, deadlines = entry
        if deadlines.noted != noted:
            return  # it came nearer since, and has another entry
        deadlines.noted = math.inf
        if deadlines.deadline <= now:
            deadlines.scope.cancel()
        else:
            self.mind(deadlines)
