"""A clock that shows the event loop's time, so that tests can use virtual time."""

from datetime import UTC, datetime, timedelta

import anyio

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class LoopClock:
    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=anyio.current_time())
