"""U2: a past state from snapshots equals a fold of the events, at bounded cost."""

import pytest

from allstop.core import run
from allstop.core.commands import Say
from allstop.views.snapshots import EVERY, Snapshots
from support.auto_runs import AutoSteps


def long_auto(events):
    """A thread to which somebody says something again and again, between its turns."""
    auto = AutoSteps()
    while len(auto.events) < events:
        auto.turn(f"Step {len(auto.events)}.")
        auto.say(Say(text=f"{len(auto.events)}"))
    return auto


@pytest.mark.parametrize("seq", [1, 2, EVERY, EVERY + 1, EVERY + 2, 2 * EVERY + 1, 150])
def test_u2_a_moment_is_the_fold_of_the_record_up_to_it(seq):
    auto = long_auto(150)
    moments = Snapshots(auto.pilot, auto.events[0])
    for event in auto.events[1:]:
        moments.take(event)

    near, state = moments.before(seq)
    for event in auto.events[near:seq]:
        state = run.evolve(auto.pilot, state, event)

    assert seq - near < EVERY
    assert state == run.fold(auto.pilot, auto.events[:seq])
