"""Virtual time for every test that has no processes: a day of waiting takes no time at all."""

import pytest
import trio.testing


@pytest.fixture
def anyio_backend():
    """Trio with a clock that jumps over every sleep."""
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})
