"""S6: the next time of day by the local clock, also where it is set forward or back."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from allstop.board.local_time import next_time

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "now", "time", "expected"),
    [
        (BERLIN, "2026-01-10T05:00", "07:00", "2026-01-10T06:00"),
        (BERLIN, "2026-01-10T06:00", "07:00", "2026-01-11T06:00"),  # not now, but tomorrow
        # In the night to 29 March the clock is set forward from 2 to 3.
        (BERLIN, "2026-03-28T21:00", "07:00", "2026-03-29T05:00"),
        (BERLIN, "2026-03-28T21:00", "02:30", "2026-03-29T01:30"),  # skipped: at 03:30
        (BERLIN, "2026-03-29T01:45", "02:30", "2026-03-30T00:30"),
        # In the night to 25 October it is set back from 3 to 2.
        (BERLIN, "2026-10-24T21:00", "07:00", "2026-10-25T06:00"),
        (BERLIN, "2026-10-24T21:00", "02:30", "2026-10-25T00:30"),  # the first of the two
        (BERLIN, "2026-10-25T00:45", "02:30", "2026-10-25T01:30"),  # the second
        (NEW_YORK, "2026-03-07T23:00", "07:00", "2026-03-08T11:00"),
        (UTC, "2026-12-31T23:59", "0:05", "2027-01-01T00:05"),
    ],
)
def test_s6_a_time_of_day_is_the_next_such_moment(zone, now, time, expected):
    assert next_time(at(now), time, zone) == at(expected)


@pytest.mark.parametrize("text", ["", "25:00", "7", "07:60", "tomorrow", "07:00:00"])
def test_s6_other_texts_are_no_time_of_day(text):
    assert next_time(at("2026-01-01T00:00"), text, UTC) is None
