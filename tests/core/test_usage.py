"""K5: usage that agents report is kept within plausible bounds."""

import math

import pytest

from allstop.core.moves import (
    MAX_TURN_MICROUSD,
    MAX_TURN_TOKENS,
    Usage,
    checked_usage,
    reported_microusd,
)


def test_plausible_usage_is_the_very_same():
    usage = Usage(input=2500, cached=2000, output=150, cost_microusd=1200, model="m")

    assert checked_usage(usage) is usage


def test_k5_impossible_usage_is_bounded():
    assert checked_usage(Usage(input=-5, cached=9, output=-2_999_700, cost_microusd=-1)) == Usage()
    assert checked_usage(Usage(input=5, cached=9)) == Usage(input=5, cached=5)
    assert checked_usage(Usage(input=10**30, output=10**30, cost_microusd=10**30)) == Usage(
        input=MAX_TURN_TOKENS, output=MAX_TURN_TOKENS, cost_microusd=MAX_TURN_MICROUSD
    )


@pytest.mark.parametrize("dollars", [math.nan, math.inf, -math.inf, 1e308, -1e308, -0.5])
def test_k5_a_reported_cost_that_is_no_amount_is_noticed(dollars):
    usage = Usage(cost_microusd=reported_microusd(dollars))

    assert checked_usage(usage) != usage


def test_a_reported_cost_is_counted_in_microdollars():
    assert [reported_microusd(each) for each in (0.0, 0.0000015, 1.25)] == [0, 2, 1_250_000]
