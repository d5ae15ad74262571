"""Virtual time for every test that has no processes: a day of waiting takes no time at all."""

import pytest
import trio.testing
from hypothesis import settings

settings.register_profile("every commit", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("soak", max_examples=2000, deadline=None)
settings.load_profile("every commit")


@pytest.fixture
def anyio_backend():
    """Trio with a clock that jumps over every sleep."""
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})
