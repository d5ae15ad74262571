"""The state of one run, kept current event by event by a process that only reads."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from allstop.core import run
from allstop.core.events import Event, Opened
from allstop.core.run import Pilot, RunState


class LiveState:
    """The state of one run after the events read so far."""

    def __init__(self, pilot: Pilot[Any], opened: Opened) -> None:
        self.pilot = pilot
        self.state: RunState[Any] = run.begin(pilot, opened)
        self.seq = 1
        self.last_at = opened.at

    def take(self, event: Event) -> None:
        self.last_at = event.at
        self.state = run.evolve(self.pilot, self.state, event)
        self.seq += 1

    def messages_at(self, seq: int) -> Sequence[Struct]:
        """Return the messages that people see for one event."""
        return ()
