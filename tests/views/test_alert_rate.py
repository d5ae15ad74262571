"""P11: the rate limit of alerts, and the summary of the others."""

from datetime import UTC, datetime, timedelta

from allstop.core.ids import RunId
from allstop.views.alert_rate import MAX_ALERTS, AlertRate, admit, summarize_left_out, wait_s
from allstop.views.alerts import Alert, Level

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def at(seconds):
    return NOON + timedelta(seconds=seconds)


def alert(number, level=Level.ERROR):
    return Alert(level=level, title=f"t{number} failed", run=RunId(f"t{number}"), at=NOON)


def flood(count, rate=None, seconds=0):
    rate = rate or AlertRate()
    admitted = []
    for number in range(count):
        rate, is_admitted = admit(rate, alert(number), at(seconds))
        admitted.append(is_admitted)
    return rate, admitted


def test_p11_a_flood_is_cut_and_the_rest_is_counted():
    rate, admitted = flood(MAX_ALERTS + 12)

    assert admitted == [True] * MAX_ALERTS + [False] * 12
    assert wait_s(rate, at(20)) == 40
    rate, summary = summarize_left_out(rate, at(60))
    assert summary == Alert(
        level=Level.ERROR,
        title="… and 12 more",
        text=f"The latest: t{MAX_ALERTS + 11} failed. See: allstop status",
        run=RunId(f"t{MAX_ALERTS + 11}"),
        at=at(60),
    )
    assert summarize_left_out(rate, at(60)) == (rate, None)


def test_p11_one_that_was_left_out_is_told_as_it_is():
    rate, _ = flood(MAX_ALERTS + 1)

    assert summarize_left_out(rate, at(60))[1] == alert(MAX_ALERTS)


def test_p11_the_summary_is_as_urgent_as_the_most_urgent_in_it():
    rate, _ = flood(MAX_ALERTS)
    for number, level in enumerate([Level.INFO, Level.NEEDS_YOU, Level.DONE]):
        rate, _ = admit(rate, alert(number, level), NOON)

    assert summarize_left_out(rate, at(60))[1].level is Level.NEEDS_YOU


def test_p11_after_a_minute_there_is_room_again():
    rate, _ = flood(MAX_ALERTS)

    assert flood(1, rate, seconds=59)[1] == [False]
    assert flood(1, rate, seconds=60)[1] == [True]
    assert wait_s(AlertRate(), NOON) == 0


def test_p11_a_stop_is_told_whatever_was_told_before():
    rate, _ = flood(MAX_ALERTS + 5)

    assert admit(rate, alert(99, Level.STOPPED), at(1))[1]
