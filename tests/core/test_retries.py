"""Backoff, and retries of limited agents."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.retries import Backoff

SEEDS = st.text(max_size=20)


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 2), (2, 4), (3, 8), (4, 16), (9, 300)])
@given(SEEDS)
def test_waits_double_and_chance_adds_at_most_a_tenth(attempt, seconds, seed):
    delay = Backoff().delay(attempt, seed)

    assert timedelta(seconds=seconds) <= delay <= timedelta(seconds=seconds * 1.1)


@given(st.integers(1, 10_000), SEEDS)
def test_the_same_seed_gives_the_same_wait(attempt, seed):
    assert Backoff().delay(attempt, seed) == Backoff().delay(attempt, seed)


def test_many_tasks_do_not_come_back_at_the_same_moment():
    delays = {Backoff().delay(3, f"task {number}") for number in range(100)}

    assert len(delays) > 90


@given(
    st.integers(1, 10_000),
    st.floats(0, 1e6),
    st.floats(1, 100),
    st.floats(0, 1e6),
    st.floats(0, 1),
)
def test_no_wait_overflows_or_passes_its_most(attempt, first_s, factor, most_s, jitter):
    backoff = Backoff(first_s=first_s, factor=factor, most_s=most_s, jitter=jitter)

    assert timedelta() <= backoff.delay(attempt, "x") <= timedelta(seconds=most_s * 2 + 1e-5)


@given(st.integers(1, 10_000))
def test_without_jitter_no_later_wait_is_shorter(attempt):
    backoff = Backoff(jitter=0.0)

    assert backoff.delay(attempt, "x") <= backoff.delay(attempt + 1, "x")
