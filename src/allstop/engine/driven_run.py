"""Where one run lies in an engine: its drive, what wakes it, and what it rests at."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import anyio

from allstop.core.moves import Outcome
from allstop.core.run import Pilot
from allstop.engine.drive import Drive
from allstop.engine.steps import Parked
from allstop.views.log import left_as


class DrivenRun:
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

    async def stay(self, parked: Parked, now: datetime) -> None:
        """Until it is called, or its time has come."""
        left_s = self.drive.seconds_left(now)
        if parked.until is not None:
            left_s = min(left_s, (parked.until - now).total_seconds())
        with anyio.move_on_after(max(0.0, left_s)):
            await self.bell.wait()

    @property
    def needs_a_person(self) -> bool:
        """Whether it rests, and has heard everything there is to hear."""
        at = self.resting
        if at is None or self.drive.behind or self.bell.is_set():
            return False
        return isinstance(at, Outcome) or at.until is None or at.for_person

    def where(self, pilot: Pilot[Any], now: datetime) -> str:
        """For a receipt."""
        if self.resting is None:
            return "still ending"
        if isinstance(self.resting, Outcome):
            return self.resting.value
        try:
            return left_as(pilot, self.drive.state, now)
        except Exception:  # noqa: BLE001 - a run that is broken must not cost the others their receipt
            return self.resting.reason
