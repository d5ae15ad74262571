"""A seeded scheduler: task order by seed, virtual time."""

from contextlib import contextmanager

import trio
import trio.testing
from trio._core import _run as trio_private


@contextmanager
def _tasks_in_an_order_given_by(seed):
    """Trio shuffles the tasks that are ready, with a Random of its own, so that nobody relies on
    their order. It has a switch that makes this repeatable, made for Hypothesis and for nothing
    else; there is no public way to give it a seed. This is the one place that touches it.
    """
    random, switch = trio_private._r, trio_private._ALLOW_DETERMINISTIC_SCHEDULING
    before = random.getstate()
    random.seed(seed)
    trio_private._ALLOW_DETERMINISTIC_SCHEDULING = True
    try:
        yield
    finally:
        random.setstate(before)
        trio_private._ALLOW_DETERMINISTIC_SCHEDULING = switch


def run_seeded(seed, function, *args):
    with _tasks_in_an_order_given_by(seed):
        return trio.run(function, *args, clock=trio.testing.MockClock(autojump_threshold=0))
