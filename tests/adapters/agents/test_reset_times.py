"""K13: parsing the end of a limit from agents' text."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from allstop.adapters.agents.reset_times import LocalTime, from_words
from support.cases import for_each

MORNING = datetime(2026, 11, 16, 5, 0, tzinfo=UTC)  # a Monday
EVENING = datetime(2026, 11, 16, 16, 50, 30, tzinfo=UTC)
WEST = timezone(timedelta(hours=-5))


@for_each(
    ("words", "until"),
    [
        ("usage limit reached|1794812400", datetime(2026, 11, 16, 7, 0, tzinfo=UTC)),
        ("usage limit reached|1794812400000", datetime(2026, 11, 16, 7, 0, tzinfo=UTC)),
        ("limit · resets 12:50am (UTC)", datetime(2026, 11, 17, 0, 50, tzinfo=UTC)),
        ("limit · resets 12:50pm (UTC)", datetime(2026, 11, 16, 12, 50, tzinfo=UTC)),
        ("limit · resets 3am", datetime(2026, 11, 16, 8, 0, tzinfo=UTC)),
        ("resets at 9am (Europe/Berlin)", datetime(2026, 11, 16, 8, 0, tzinfo=UTC)),
        ("resets 9am (No/Where)", datetime(2026, 11, 16, 14, 0, tzinfo=UTC)),
        ("resets Nov 20, 5pm (UTC)", datetime(2026, 11, 20, 17, 0, tzinfo=UTC)),
        ("resets Thu 5pm (UTC)", datetime(2026, 11, 19, 17, 0, tzinfo=UTC)),
        ("resets 17:30 (UTC)", datetime(2026, 11, 16, 17, 30, tzinfo=UTC)),
        ("resets Feb 30, 5pm", None),
        ("resets Mar 1, 5pm (UTC)", None),  # too far away to be meant
        ("resets 99pm", datetime(2026, 11, 16, 20, 0, tzinfo=UTC)),
        ("resets soon", None),
        ("resets 4 of them", None),
        ("|9999999999", None),
    ],
)
def test_k13_a_reset_in_words_is_understood(words, until):
    """K13: "resets 12:50am" is the next such time in the named or local zone."""
    assert from_words(words, LocalTime(now=MORNING, local=WEST)) == until


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("or try again at 7:43 PM.", datetime(2026, 11, 16, 19, 44, tzinfo=UTC)),
        ("or try again at 12:05 AM.", datetime(2026, 11, 17, 0, 6, tzinfo=UTC)),
        ("try again at 4:50 PM.", datetime(2026, 11, 16, 16, 51, tzinfo=UTC)),
        ("try again at 4:48 PM.", EVENING),  # a moment ago, not tomorrow
        ("try again at Nov 19th, 2026 4:43 AM.", datetime(2026, 11, 19, 4, 44, tzinfo=UTC)),
        ("try again at Dec 1st, 2026 12:00 PM.", datetime(2026, 12, 1, 12, 1, tzinfo=UTC)),
        ("try again at Foo 19th, 2026 4:43 AM.", None),
        ("try again at Nov 99th, 2026 4:43 AM.", None),
        ("try again at 99:99 PM.", None),
        ("try again in 2 days 3 hours 4 minutes.", EVENING + timedelta(days=2, hours=3, minutes=4)),
        ("try again in 45 minutes.", EVENING + timedelta(minutes=45)),
        ("try again in 400 days.", None),
        ("try again in 99999999999999 days.", None),
        ("or try again later.", None),
    ],
)
def test_k13_when_to_try_again_is_understood(words, at):
    """K13: the end of the named minute."""
    assert from_words(f"You’ve hit your usage limit. {words}", LocalTime(now=EVENING)) == at
