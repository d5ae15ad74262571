"""Where one run lies in an engine: its drive, what wakes it, and what it rests at."""

from __future__ import annotations

from typing import Any

import anyio

from allstop.core.moves import Outcome
from allstop.loop.drive import Drive
from allstop.loop.steps import Parked


class Berth:
    def __init__(self, drive: Drive[Any]) -> None:
        self.drive = drive
        self.bell = anyio.Event()
        self.resting: Parked | Outcome | None = None
        self.rested = anyio.Event()
        self.risen = anyio.Event()

    def rest(self, at: Parked | Outcome) -> None:
        self.resting = at
        self.risen = anyio.Event()
        self.rested.set()

    def rise(self) -> None:
        self.resting = None
        if self.rested.is_set():  # whoever waits already must hear of it
            self.rested = anyio.Event()
        self.risen.set()

    def where(self) -> str:
        """For a receipt."""
        if self.resting is None:
            return "still ending"
        return self.resting.value if isinstance(self.resting, Outcome) else self.resting.reason
