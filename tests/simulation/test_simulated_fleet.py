"""Z3, Z5, Z11: simulated fleets with lost messages, cut networks, skewed clocks and kills.

A few seeds for each commit, 2,000 in `make soak`. `TEST_FLEET_SEEDS=41:42` plays one.
"""

import os

import pytest

from simulation.simulated_fleet import simulate
from support.sweeps import short


def seeds():
    said = os.environ.get("TEST_FLEET_SEEDS", str(short(2000, 6)))
    first, _, last = said.rpartition(":")
    return range(int(first or 0), int(last))


@pytest.mark.parametrize("seed", seeds())
def test_z3_z5_z11_a_fleet_keeps_the_rules_whatever_fails(seed):
    """One machine on a run, one move at a time, merged once, nothing after a stop.

    Replay by the pilots of one machine gives the moves that the fleet made.
    """
    try:
        simulate(seed)
    except BaseException as error:
        error.add_note(f"alone: TEST_FLEET_SEEDS={seed}:{seed + 1}")
        raise


def test_z11_the_same_seed_gives_the_same_history():
    assert simulate(0) == simulate(0)
