"""P11: quiet hours, in which only urgent alerts are sent."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

from allstop.core.ids import RunId
from allstop.views.alerts import Alert, Level
from allstop.views.quiet_hours import QuietHours, is_deferred, parse, remaining_s, summarize

NIGHT = parse("22:00-07:00", UTC)
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def alert(level, title="t"):
    return Alert(level=level, title=title, run=RunId("x"), at=NOON)


def on(hour, minute=0, day=1, month=1):
    return datetime(2030, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "hours"),
    [(on(21, 59), 0), (on(22), 9), (on(23, 30), 7.5), (on(0), 7), (on(6, 30), 0.5), (on(7), 0)],
)
def test_p11_a_night_goes_over_midnight(now, hours):
    assert remaining_s(NIGHT, now) == hours * 3600


def test_p11_hours_of_one_day():
    rest = parse("9:05-12:00", UTC)

    assert rest == QuietHours(time(9, 5), time(12), UTC)
    assert (remaining_s(rest, on(9)), remaining_s(rest, on(11)), remaining_s(rest, on(12))) == (
        0,
        3600,
        0,
    )


def test_p11_by_the_clock_of_the_zone_whatever_the_season():
    berlin = parse("22:00-07:00", ZoneInfo("Europe/Berlin"))

    assert remaining_s(berlin, on(21)) == 9 * 3600
    assert remaining_s(berlin, on(20, month=7)) == 9 * 3600
    assert remaining_s(berlin, on(21, day=30, month=3)) == 8 * 3600  # the night that lacks an hour


@pytest.mark.parametrize("level", Level)
def test_p11_what_needs_a_person_or_was_stopped_is_told_at_any_hour(level):
    is_urgent = level in (Level.NEEDS_YOU, Level.STOPPED)

    assert is_deferred(NIGHT, alert(level), on(23)) is not is_urgent
    assert not is_deferred(NIGHT, alert(level), on(12))
    assert not is_deferred(None, alert(level), on(23))


def test_p11_what_was_kept_is_one_message():
    kept = [alert(Level.DONE), alert(Level.ERROR), alert(Level.DONE, "t3 is done")]

    assert summarize(kept[:1], on(7)) == kept[0]
    assert summarize(kept, on(7)) == Alert(
        level=Level.ERROR,
        title="During quiet hours: 1 error, 2 done",
        text="The latest: t3 is done. See: allstop status",
        run=RunId("x"),
        at=on(7),
    )
