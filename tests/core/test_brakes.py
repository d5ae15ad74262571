"""K5, K6: limits, and whether one is near or reached."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from allstop.core.brakes import (
    SOFT_SHARE,
    WITHIN_LIMITS,
    BrakeLevel,
    Limits,
    LimitStatus,
    Tally,
    check,
    check_reservation,
    elapsed_seconds,
    is_stuck,
    seconds_left,
)
from support.strategies import NOW, some

SMALL = st.integers(0, 2000)
CAPS = st.none() | SMALL
LIMITS = st.builds(Limits, turns=CAPS, tokens=CAPS, cost_microusd=CAPS, time_s=CAPS, busy_s=CAPS)
TALLIES = st.builds(
    Tally, turns=SMALL, input=SMALL, cached=SMALL, output=SMALL, cost_microusd=SMALL, busy_s=SMALL
)


def after(seconds):
    return NOW + timedelta(seconds=seconds)


@given(LIMITS, TALLIES, TALLIES, SMALL, SMALL)
def test_k5_brakes_never_let_go_as_use_and_time_grow(limits, used, more, elapsed_s, later_s):
    before = check(limits, used, NOW, after(elapsed_s))
    then = check(limits, used.plus(more), NOW, after(elapsed_s + later_s))

    assert then.level >= before.level


@given(LIMITS, TALLIES, SMALL, st.sampled_from(["turns", "tokens", "cost_microusd", "time_s"]))
def test_k6_raising_a_limit_never_tightens_the_brakes(limits, used, elapsed_s, which):
    cap = getattr(limits, which)
    raised = replace(limits, **{which: None if cap is None else cap * 2 + 1})

    before = check(limits, used, NOW, after(elapsed_s))
    assert check(raised, used, NOW, after(elapsed_s)).level <= before.level


@given(TALLIES, SMALL)
def test_without_limits_nothing_brakes(used, elapsed_s):
    assert check(Limits(), used, NOW, after(elapsed_s)) == WITHIN_LIMITS
    assert check_reservation(Limits(), used, 10**9) == WITHIN_LIMITS
    assert seconds_left(Limits(), used, NOW, after(elapsed_s)) is None


@pytest.mark.parametrize(
    ("limits", "verdict"),
    [
        (Limits(turns=11), WITHIN_LIMITS),
        (Limits(turns=10), LimitStatus(BrakeLevel.SOFT, "turns: 8 of 10")),
        (Limits(turns=8), LimitStatus(BrakeLevel.HARD, "turns: 8 of 8")),
        (Limits(turns=0), LimitStatus(BrakeLevel.HARD, "turns: 8 of 0")),
        (Limits(tokens=1200), LimitStatus(BrakeLevel.HARD, "tokens: 1,200 of 1,200")),
        (Limits(tokens=1201), LimitStatus(BrakeLevel.SOFT, "tokens: 1,200 of 1,201")),
        (Limits(cost_microusd=2_500_000), LimitStatus(BrakeLevel.HARD, "cost: $2.50 of $2.50")),
        (Limits(time_s=60.0), LimitStatus(BrakeLevel.HARD, "seconds: 60 of 60")),
        (Limits(busy_s=20.0), LimitStatus(BrakeLevel.HARD, "seconds of work: 20 of 20")),
        (Limits(turns=10, busy_s=20.0), LimitStatus(BrakeLevel.HARD, "seconds of work: 20 of 20")),
    ],
)
def test_k6_a_note_from_four_fifths_on_and_an_end_at_the_limit(limits, verdict):
    tally = Tally(turns=8, input=1000, cached=900, output=200, cost_microusd=2_500_000, busy_s=20.0)

    assert check(limits, tally, NOW, after(60)) == verdict
    assert SOFT_SHARE == 0.8


@given(CAPS, TALLIES, SMALL)
def test_k5_a_turn_that_is_let_through_can_not_pass_the_limit(cap, used, max_tokens):
    verdict = check_reservation(Limits(tokens=cap), used, max_tokens)

    fits = cap is None or used.tokens + max_tokens <= cap
    assert verdict.level is (BrakeLevel.OFF if fits else BrakeLevel.HARD)


@given(LIMITS, TALLIES, SMALL)
def test_a_move_may_last_until_the_first_limit_in_time(limits, used, elapsed_s):
    left_s = seconds_left(limits, used, NOW, after(elapsed_s))

    both = [
        most - spent
        for most, spent in ((limits.time_s, elapsed_s), (limits.busy_s, used.busy_s))
        if most is not None
    ]
    assert left_s == (max(0.0, min(both)) if both else None)


@given(TALLIES, TALLIES, TALLIES)
def test_tallies_add_up_in_any_order(one, two, three):
    assert one.plus(two).plus(three) == three.plus(one).plus(two)
    assert one.plus(Tally()) == one


@given(TALLIES, st.floats(-1e6, 1e6))
def test_q19_a_clock_that_was_set_back_never_gives_time_back(used, seconds):
    assert elapsed_seconds(timedelta(seconds=seconds)) >= 0.0


@given(some(tuple[str, ...]), st.integers(1, 4))
def test_it_is_stuck_when_the_last_texts_are_all_the_same(texts, repeats):
    assert is_stuck((*texts, *["same"] * repeats), repeats)
    assert not is_stuck((*texts, "other", *["same"] * repeats), repeats + 1)
    assert not is_stuck((), repeats)
