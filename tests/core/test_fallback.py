"""Which agent takes the next turn."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from allstop.core.fallback import Roster, hold, pick
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
