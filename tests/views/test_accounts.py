"""P16: what people see of accounts: used share, pace and reset."""

from datetime import UTC, datetime, timedelta

import pytest

from allstop.core.accounts import AccountHold, Roster, Window, hold, turn_started
from allstop.core.events import AccountHeld, AccountReleased, WindowsSeen
from allstop.core.moves import FailureKind
from allstop.views.accounts import (
    AccountState,
    Pace,
    account_lines,
    account_view,
    fold,
    hold_of,
    local_time,
    news,
    window_view,
)
from allstop.views.log import switch_lines

NOW = datetime(2026, 9, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOLD = AccountHold(until=NOW + HOUR, kind=FailureKind.USAGE_LIMITED, reason="5-hour limit")


def week(used, left=timedelta(days=3.5)):
    return Window(name="week", used=used, resets_at=NOW + left, span_s=604800.0)


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_p19_the_stream_folds_to_holds_and_windows():
    five = Window(name="5 hours", used=0.2)
    ledger = fold(
        {},
        [
            AccountHeld(at=NOW, account="max", hold=HOLD),
            WindowsSeen(at=NOW, account="max", windows=(week(0.1), five)),
            WindowsSeen(at=NOW + HOUR, account="max", windows=(week(0.2),)),
            AccountHeld(at=NOW, account="team", hold=HOLD),
            AccountReleased(at=NOW, account="team", run="plan1"),
        ],
    )

    assert ledger["max"].windows == (week(0.2), five)
    assert ledger["max"].hold == HOLD
    assert ledger["team"] == AccountState()
    assert hold_of(ledger["max"], NOW) == HOLD
    assert hold_of(ledger["max"], NOW + HOUR) is None


@pytest.mark.parametrize(
    ("used", "pace"),
    [(0.58, Pace.AHEAD), (0.5, Pace.EVEN), (0.22, Pace.BEHIND), (None, None)],
)
def test_p16_the_pace_compares_the_used_share_with_even_use(used, pace):
    seen = window_view(week(used), NOW)

    assert (seen.used, seen.even, seen.pace) == (used, 0.5, pace)


def test_p16_a_window_in_words():
    assert window_view(week(0.58), NOW).text == (
        "week 58 % used, ahead of even use, resets Mon 00:00"
    )
    assert window_view(Window(name="tokens", used=None), NOW).text == "tokens unknown"


def test_p16_after_its_reset_a_window_is_unknown_and_not_empty():
    seen = window_view(week(1.0, left=-HOUR), NOW)

    assert (seen.used, seen.resets_at) == (None, None)
    assert seen.text == "week: unknown since its reset"


def test_p16_only_news_is_recorded():
    known = AccountState(windows=(week(0.5),))

    assert news(known, [week(0.505), week(0.5)]) == ()
    assert news(known, [week(0.52)]) == (week(0.52),)
    assert news(known, [week(0.5, left=timedelta(days=3.5, seconds=30))]) == ()
    assert news(known, [week(0.5, left=timedelta(days=7))]) == (week(0.5, left=timedelta(days=7)),)
    assert news(known, [Window(name="5 hours", used=0.0)]) == (Window(name="5 hours", used=0.0),)


def test_p16_accounts_in_the_terminal():
    held = account_view("max", ["claude"], AccountState(hold=HOLD, windows=(week(1.0),)), NOW)
    unknown = account_view("gpt", ["gpt"], AccountState(), NOW)

    assert account_lines([held, unknown]) == [
        "◷ account max (claude): held until 13:00: 5-hour limit",
        "    week 100 % used, ahead of even use, resets Mon 00:00",
    ]


def test_p16_times_are_local_by_the_rules_of_the_day(monkeypatch):
    """On the night of 25 October 2026 clocks in Berlin go back at 3:00."""
    import time

    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    evening = datetime(2026, 10, 24, 21, 30, tzinfo=UTC)

    assert local_time(datetime(2026, 10, 25, 2, 30, tzinfo=UTC), evening) == "Sun 03:30"
    assert local_time(datetime(2026, 10, 24, 21, 45, tzinfo=UTC), evening) == "23:45"


def test_p6_the_log_tells_a_switch_and_its_reason_once():
    before = Roster(agents=("claude", "gpt"))
    held = hold(before, "claude", NOW + HOUR, FailureKind.USAGE_LIMITED)
    after = turn_started(held, "claude", "gpt", NOW)

    assert [line.text for line in switch_lines(held, after)] == [
        "gpt replaces claude: usage limited"
    ]
    assert switch_lines(after, after) == []
    assert switch_lines(None, after) == []
