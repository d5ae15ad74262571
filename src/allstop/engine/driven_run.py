"""A driven run: its folded state, its drive, the event that wakes it, and the state it waits in."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import anyio

from allstop.core import run
from allstop.core.events import Opened
from allstop.core.moves import Outcome
from allstop.core.run import FoldedRun, Pilot
from allstop.engine.drive import Drive
from allstop.engine.steps import Waiting
from allstop.ports import Clock, Record
from allstop.views.log import state_after_stop

CLOCK_S = 30.0
"""How often a run that waits for a time compares it with the clock."""


def fold(
    pilots: Mapping[str, Pilot[Any]], records: Sequence[Record], known: FoldedRun[Any] | None
) -> tuple[Pilot[Any], FoldedRun[Any]]:
    """The run's pilot and its folded state."""
    events = [record.event for record in records]
    opened = known.state.opened if known else events[0]
    assert isinstance(opened, Opened), "a journal starts with Opened"
    pilot = pilots[opened.kind]
    if known is None:
        return pilot, FoldedRun(run.fold(pilot, events), records[-1].seq)
    seq = records[-1].seq if records else known.seq
    return pilot, FoldedRun(run.fold_more(pilot, known.state, events), seq)


class DrivenRun:
    def __init__(self, drive: Drive[Any]) -> None:
        self.drive = drive
        self.wake_event = anyio.Event()
        self.resting: Waiting | Outcome | None = None
        self.rested = anyio.Event()
        self.resumed = anyio.Event()

    def rest(self, at: Waiting | Outcome) -> None:
        self.resting = at
        self.resumed = anyio.Event()
        self.rested.set()

    def resume(self) -> None:
        self.resting = None
        if self.rested.is_set():  # tasks that already wait keep the old event
            self.rested = anyio.Event()
        self.resumed.set()

    async def sleep(self, waiting: Waiting, clock: Clock) -> None:
        """Sleep until the run is woken or its time comes, even if the machine sleeps meanwhile."""
        began = clock.now()
        wait_s = self.drive.seconds_left(began)
        if waiting.until is not None:
            wait_s = min(wait_s, (waiting.until - began).total_seconds())
        while not self.wake_event.is_set():
            left_s = wait_s - (clock.now() - began).total_seconds()
            if left_s <= 0:
                return
            # the event loop's time stands still while the machine sleeps
            with anyio.move_on_after(left_s if math.isinf(left_s) else min(left_s, CLOCK_S)):
                await self.wake_event.wait()

    @property
    def needs_person(self) -> bool:
        """Whether it rests, and has heard everything there is to hear."""
        at = self.resting
        if at is None or self.drive.behind or self.wake_event.is_set():
            return False
        return isinstance(at, Outcome) or at.until is None or at.for_person

    def describe(self, pilots: Mapping[str, Pilot[Any]], now: datetime) -> str:
        """The run's state for a stop receipt."""
        if self.resting is None:
            return "still ending"
        if isinstance(self.resting, Outcome):
            return self.resting.value
        try:
            return state_after_stop(pilots[self.drive.state.opened.kind], self.drive.state, now)
        except Exception:  # noqa: BLE001 - a broken run must not prevent the receipt
            return self.resting.reason
