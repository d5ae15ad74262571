"""Which agent takes the next turn."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from allstop.core.accounts import (
    RECOVERED,
    Roster,
    after_billing,
    after_limit,
    hold,
    pick,
    release_all,
    turn_done,
    turn_started,
)
from allstop.core.moves import Failed, FailureKind
from allstop.core.retries import NO_STREAK, LimitPatience, LimitStreak
from support.strategies import NOW

NAMES = ("first", "second", "third")
HOLDS = st.dictionaries(st.sampled_from(NAMES), st.integers(-100, 100), max_size=3)


def after(seconds):
    return NOW + timedelta(seconds=seconds)


@given(HOLDS)
def test_the_first_that_is_free_speaks_and_otherwise_the_soonest_is_waited_for(holds):
    roster = Roster(agents=NAMES, held_until={name: after(s) for name, s in holds.items()})

    free = [name for name in NAMES if holds.get(name, -1) <= 0]
    expected = free[0] if free else after(min(holds.values()))
    assert pick(roster, NOW) == expected


@given(HOLDS)
def test_once_the_wait_is_over_somebody_speaks(holds):
    roster = Roster(agents=NAMES, held_until={name: after(s) for name, s in holds.items()})
    choice = pick(roster, NOW)

    assert choice in NAMES or pick(roster, choice) in NAMES


def test_the_fallback_speaks_while_the_first_is_held_and_then_the_first_again():
    roster = hold(Roster(agents=NAMES), "first", after(60))

    assert [pick(roster, after(s)) for s in (0, 59, 60)] == ["second", "second", "first"]


def test_a_later_hold_takes_the_place_of_an_earlier_one():
    roster = hold(hold(Roster(agents=("only",)), "only", after(60)), "only", after(5))

    assert pick(roster, NOW) == after(5)


PATIENCE = LimitPatience(recover=True)


def limited(roster, agent="first", at=NOW, told_s=None, patience=PATIENCE, affected=None, **how):
    """The roster after a limited turn of the agent."""
    retry_at = None if told_s is None else at + timedelta(seconds=told_s)
    failed = Failed(kind=FailureKind.RATE_LIMITED, retry_at=retry_at, **how)
    affected = affected or (agent,)
    return after_limit(roster, agent, affected, failed, at, NO_STREAK, patience, "seed").roster


def test_p5_an_announced_wait_of_more_than_a_minute_goes_to_the_fallback_at_once():
    assert pick(limited(Roster(agents=NAMES), told_s=61), NOW) == "second"


def test_p5_an_announced_wait_of_a_minute_is_waited_for():
    roster = limited(Roster(agents=NAMES), told_s=60)

    assert [pick(roster, after(s)) for s in (0, 60)] == [after(60), "first"]


def test_p5_without_a_time_the_same_agent_is_tried_after_5_15_and_45_seconds():
    roster, at, waits = Roster(agents=NAMES), NOW, []
    while isinstance(until := pick(roster := limited(roster, at=at), at), datetime):
        waits.append((until - at).total_seconds())
        at = until

    assert [5 <= waits[0] <= 5.5, 15 <= waits[1] <= 16.5, 45 <= waits[2] <= 49.5] == [True] * 3
    assert (len(waits), until) == (3, "second")


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_p5_the_setting_says_how_often_a_limited_agent_is_tried_again(retries):
    roster, at, tries = Roster(agents=NAMES), NOW, 0
    patience = replace(PATIENCE, guesses=retries)
    while isinstance(at := pick(roster := limited(roster, at=at, patience=patience), at), datetime):
        tries += 1

    assert tries == retries


def test_p5_with_every_agent_limited_the_first_reset_is_waited_for():
    roster = limited(Roster(agents=("first", "second")), told_s=900)
    roster = limited(roster, "second", told_s=300)

    assert [pick(roster, after(s)) for s in (0, 300, 900)] == [after(300), "second", "first"]


def test_p5_a_limit_that_was_only_guessed_is_given_up_when_no_agent_is_left():
    streak = LimitStreak(times=3)
    failed = Failed(kind=FailureKind.RATE_LIMITED, guessed=True)
    patience = replace(PATIENCE, guesses=0)

    def gave_up(agents):
        roster = Roster(agents=agents)
        return after_limit(roster, "first", ("first",), failed, NOW, streak, patience, "s").gave_up

    assert (bool(gave_up(("first",))), gave_up(NAMES)) == (True, "")


def test_p6_an_agent_that_answered_gets_its_retries_again():
    roster = limited(limited(Roster(agents=NAMES)), at=after(10))
    assert turn_done(roster, "first") == replace(roster, tries={}, awaited=None)


def test_p6_without_recovery_the_fallback_stays():
    roster = limited(Roster(agents=NAMES), told_s=100)

    assert [pick(roster, after(s), "second") for s in (0, 100)] == ["second", "second"]
    assert pick(roster, after(100)) == "first"


def test_p6_each_switch_is_recorded_with_its_reason():
    roster = turn_started(limited(Roster(agents=NAMES), told_s=100), "first", "second", NOW)
    roster = turn_started(roster, "second", "second", after(1))
    roster = turn_started(roster, "second", "first", after(100))

    told = [(each.before, each.after, each.reason) for each in roster.switches]
    assert told == [("first", "second", "rate_limited"), ("second", "first", RECOVERED)]


def test_k13_the_agents_of_the_account_are_held_together():
    roster = limited(Roster(agents=NAMES), told_s=3600, affected=("first", "second"))
    assert pick(roster, NOW) == "third"


def test_k13_an_account_without_credit_is_left_to_a_person():
    failed = Failed(kind=FailureKind.BILLING)
    roster = after_billing(Roster(agents=NAMES), ("first",), failed, NOW)

    assert pick(roster, after(86400)) == "second"
    assert pick(release_all(roster), NOW) == "first"
