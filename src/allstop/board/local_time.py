"""Times of day by the local clock, also where it is set forward or back."""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

TIME_OF_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def next_time(now: datetime, text: str, zone: tzinfo | None = None) -> datetime | None:
    """The next moment at which the local clock shows this time of day; None if it is no time.

    A time that a clock change skips is reached when the clock has been set forward. Without a
    zone, the machine's own is used.
    """
    found = TIME_OF_DAY.fullmatch(text.strip())
    if found is None:
        return None
    hour, minute = int(found[1]), int(found[2])
    today = now.astimezone(zone).date()
    days = (today + timedelta(days=more) for more in range(3))
    return min(at for day in days for at in _moments(day, hour, minute, zone) if at > now)


def _moments(day: date, hour: int, minute: int, zone: tzinfo | None) -> list[datetime]:
    """The moments of a day at which the clock shows this time: two where it is set back."""
    times = [
        datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone, fold=fold)
        for fold in (0, 1)
    ]
    moments = [time.astimezone(UTC) for time in times]
    shown = [at for at in moments if _clock(at.astimezone(zone)) == (hour, minute)]
    return shown or moments[:1]


def _clock(at: datetime) -> tuple[int, int]:
    return at.hour, at.minute
