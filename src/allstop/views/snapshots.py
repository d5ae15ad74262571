"""A run's states at regular places of its record, so that any moment of it is near to one."""

from __future__ import annotations

from typing import Any

from allstop.core import run
from allstop.core.events import Event, Opened
from allstop.core.run import Pilot, RunState

EVERY = 64
"""Events between two states that are kept. States share what did not change, so they are small."""


class Moments:
    """Of one run, as far as its record has been taken."""

    def __init__(self, pilot: Pilot[Any], opened: Opened) -> None:
        self.pilot = pilot
        self.seq = 1
        self._newest: RunState[Any] = run.begin(pilot, opened)
        self._kept = [self._newest]  # after events 1, 1 + EVERY, 1 + 2 * EVERY …

    def take(self, event: Event) -> None:
        """The next one."""
        self._newest = run.evolve(self.pilot, self._newest, event)
        self.seq += 1
        if (self.seq - 1) % EVERY == 0:
            self._kept.append(self._newest)

    def before(self, seq: int) -> tuple[int, RunState[Any]]:
        """A number that is not after `seq`, and the state after that event."""
        place = (min(seq, self.seq) - 1) // EVERY
        return 1 + place * EVERY, self._kept[place]
