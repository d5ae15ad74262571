"""M3, Q27: simulated merge queues with kills; `make soak` plays 10,000 histories."""

import pytest

from simulation.simulated_queue import ONE, SEVERAL, Chances, QueueHistory
from support.sweeps import short

HISTORIES = short(10_000, 100)
ROUGH = Chances(fails=0.15, clashes=0.1, flakes=0.1, conflicts=0.1, kills=0.1, moves=0.05)


@pytest.mark.parametrize("part", range(4))
def test_m3_q27_the_target_is_never_red_and_everything_lands_once_whatever_is_killed(part):
    kills = 0
    for seed in range(part, HISTORIES, 4):
        checks = (SEVERAL, ONE)[seed % 2]
        kills += QueueHistory(seed, 20, ROUGH, checks).play().check().kills

    assert kills > HISTORIES


def test_q27_few_full_runs_are_needed_and_honest_changes_stay():
    history = QueueHistory(1, 2000).play().check()

    assert history.rightly > 50
    assert history.runs / history.merged <= 0.6
    assert history.wrongly / history.merged <= 0.001
    assert history.longest_wait <= 2, "the oldest change is settled by the second batch"
