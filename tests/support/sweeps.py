"""Short forms of long sweeps: `make test` takes a sample, `make soak` takes everything."""

import itertools
import os

IS_SOAK = os.environ.get("TEST_EXAMPLES") == "soak"


def every(step, first=1):
    """Count from `first`: by `step`, or by one in `make soak`."""
    return itertools.count(first, 1 if IS_SOAK else step)


def short(whole, sample):
    """One of two values: the first in `make soak`."""
    return whole if IS_SOAK else sample
