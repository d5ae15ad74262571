"""P11: alerts wait in quiet hours, and are sent as one summary afterwards."""

from datetime import UTC

import anyio

from allstop.adapters.notify import Delivery
from allstop.core.ids import RunId
from allstop.testing.virtual_clock import LoopClock
from allstop.views import quiet_hours
from allstop.views.alerts import Alert, Level

HOUR_S = 3600.0


class Kept:
    name = "kept"

    def __init__(self, clock):
        self._clock = clock
        self.told = []

    async def tell(self, alert):
        self.told.append((f"{self._clock.now():%H:%M}", alert.title))
        return ""


async def test_p11_what_can_wait_is_told_when_the_hours_are_over(tmp_path):
    """The clock begins at midnight."""
    clock = LoopClock()
    channel = Kept(clock)
    night = quiet_hours.parse("22:00-07:00", UTC)

    def tell(level, title):
        delivery.tell(Alert(level=level, title=title, run=RunId("x"), at=clock.now()))

    channels = [channel]
    async with Delivery(
        lambda: channels, tmp_path / "log", clock=clock, quiet=lambda: night
    ) as delivery:
        await anyio.sleep(HOUR_S)
        tell(Level.DONE, "one")
        tell(Level.NEEDS_YOU, "two")
        await anyio.sleep(HOUR_S)
        tell(Level.ERROR, "three")
        await anyio.sleep(10 * HOUR_S)
        tell(Level.DONE, "four")
        await anyio.sleep(12 * HOUR_S)
        tell(Level.INFO, "five")

    assert channel.told == [
        ("01:00", "two"),
        ("07:00", "During quiet hours: 1 error, 1 done"),
        ("12:00", "four"),
    ]


async def test_p11_hours_that_end_while_all_ends_break_nothing(tmp_path):
    """What is told by then has its moment; the rest is dropped, as ever."""
    clock = LoopClock()
    night = quiet_hours.parse("22:00-07:00", UTC)

    class Slow(Kept):
        async def tell(self, alert):
            await anyio.sleep(4)
            return await super().tell(alert)

    channels = [Slow(clock)]
    async with Delivery(
        lambda: channels, tmp_path / "log", clock=clock, quiet=lambda: night
    ) as delivery:
        delivery.tell(Alert(level=Level.DONE, title="one", run=RunId("x"), at=clock.now()))
        await anyio.sleep(7 * HOUR_S - 2)
        delivery.tell(Alert(level=Level.NEEDS_YOU, title="two", run=RunId("x"), at=clock.now()))

    assert [title for _, title in channels[0].told] == ["two"]


async def test_p11_hours_that_are_taken_back_end_at_once(tmp_path):
    clock = LoopClock()
    channel = Kept(clock)
    hours = [quiet_hours.parse("00:00-12:00", UTC)]

    channels = [channel]
    async with Delivery(
        lambda: channels, tmp_path / "log", clock=clock, quiet=lambda: hours[0] if hours else None
    ) as delivery:
        delivery.tell(Alert(level=Level.DONE, title="one", run=RunId("x"), at=clock.now()))
        await anyio.sleep(HOUR_S)
        hours.clear()
        await anyio.sleep(HOUR_S)

    assert [title for _, title in channel.told] == ["one"]
