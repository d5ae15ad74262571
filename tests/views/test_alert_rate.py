"""P11: at most so many alerts a minute, and one for the rest."""

from datetime import UTC, datetime, timedelta

from allstop.core.ids import RunId
from allstop.views.alert_rate import MOST, Pace, admit, due_s, rest
from allstop.views.alerts import Alert, Level

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def at(seconds):
    return NOON + timedelta(seconds=seconds)


def alert(number, level=Level.ERROR):
    return Alert(level=level, title=f"t{number} failed", run=RunId(f"t{number}"), at=NOON)


def flood(count, pace=None, seconds=0):
    pace = pace or Pace()
    admitted = []
    for number in range(count):
        pace, is_admitted = admit(pace, alert(number), at(seconds))
        admitted.append(is_admitted)
    return pace, admitted


def test_p11_a_flood_is_cut_and_the_rest_is_counted():
    pace, admitted = flood(MOST + 12)

    assert admitted == [True] * MOST + [False] * 12
    assert due_s(pace, at(20)) == 40
    pace, summary = rest(pace, at(60))
    assert summary == Alert(
        level=Level.ERROR,
        title="… and 12 more",
        text=f"The latest: t{MOST + 11} failed. See: allstop status",
        run=RunId(f"t{MOST + 11}"),
        at=at(60),
    )
    assert rest(pace, at(60)) == (pace, None)


def test_p11_one_that_was_left_out_is_told_as_it_is():
    pace, _ = flood(MOST + 1)

    assert rest(pace, at(60))[1] == alert(MOST)


def test_p11_the_summary_is_as_urgent_as_the_most_urgent_in_it():
    pace, _ = flood(MOST)
    for number, level in enumerate([Level.INFO, Level.NEEDS_YOU, Level.DONE]):
        pace, _ = admit(pace, alert(number, level), NOON)

    assert rest(pace, at(60))[1].level is Level.NEEDS_YOU


def test_p11_after_a_minute_there_is_room_again():
    pace, _ = flood(MOST)

    assert flood(1, pace, seconds=59)[1] == [False]
    assert flood(1, pace, seconds=60)[1] == [True]
    assert due_s(Pace(), NOON) == 0


def test_p11_a_stop_is_told_whatever_was_told_before():
    pace, _ = flood(MOST + 5)

    assert admit(pace, alert(99, Level.STOPPED), at(1))[1]
