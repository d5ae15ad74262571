"""Snapshots of a run's state after every 64 events, to find past states quickly."""

from typing import Any

from allstop.core import run
from allstop.core.events import Event, Opened
from allstop.core.run import Pilot, RunState

EVERY = 64
"""Events between two snapshots. States share unchanged parts, so snapshots are small."""


class Snapshots:
    def __init__(self, pilot: Pilot[Any], opened: Opened) -> None:
        self.pilot = pilot
        self.seq = 1
        self._newest: RunState[Any] = run.begin(pilot, opened)
        self._kept = [self._newest]  # after events 1, 1 + EVERY, 1 + 2 * EVERY …

    def take(self, event: Event) -> None:
        """Apply the next event."""
        self._newest = run.evolve(self.pilot, self._newest, event)
        self.seq += 1
        if (self.seq - 1) % EVERY == 0:
            self._kept.append(self._newest)

    def before(self, seq: int) -> tuple[int, RunState[Any]]:
        """Return the last snapshot that is not after `seq`: its event number and its state."""
        place = (min(seq, self.seq) - 1) // EVERY
        return 1 + place * EVERY, self._kept[place]
