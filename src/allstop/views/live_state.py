"""A run's state kept up to date, event by event, by somebody who only looks."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from allstop.core import run
from allstop.core.events import Event, Opened
from allstop.core.run import Pilot, RunState
from allstop.views.rooms import RoomEvent, RoomView


class Followed:
    """One run, as far as it has been read."""

    def __init__(self, pilot: Pilot[Any], opened: Opened) -> None:
        self.pilot = pilot
        self.state: RunState[Any] = run.begin(pilot, opened)
        self.seq = 1
        self.last_at = opened.at

    def take(self, event: Event) -> None:
        self.last_at = event.at
        self.state = run.evolve(self.pilot, self.state, event)
        self.seq += 1


class FollowedRoom(Followed):
    """A room, with everything that was said in it."""

    def __init__(self, pilot: Pilot[Any], opened: Opened) -> None:
        super().__init__(pilot, opened)
        self._view = RoomView(pilot, opened)
        self.told: list[RoomEvent] = []

    def take(self, event: Event) -> None:
        self.last_at = event.at
        self.told += self._view.take(event)
        self.state, self.seq = self._view.run, self._view.seq

    def told_at(self, seq: int) -> list[RoomEvent]:
        """What one event of the record means to people."""
        start = bisect_left(self.told, seq, key=lambda told: told.seq)
        end = bisect_left(self.told, seq + 1, key=lambda told: told.seq)
        return self.told[start:end]

    def told_after(self, seq: int) -> list[RoomEvent]:
        return self.told[bisect_left(self.told, seq + 1, key=lambda told: told.seq) :]
