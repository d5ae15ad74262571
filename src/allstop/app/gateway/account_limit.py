"""Failures of model calls in one turn, and limits of the account among them."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from allstop.adapters.agents.provider_errors import failure_of, read_fault
from allstop.adapters.agents.reset_times import LocalTime
from allstop.adapters.gateway.model_call import Limit
from allstop.adapters.gateway.model_connection import LoginError, UpstreamError
from allstop.core.moves import Failed, FailureKind
from allstop.ports import Clock

SHORT_WAIT_S = 10.0
"""An agent waits this long by itself; a longer wait ends its turn, so that others can work."""

_OF_ACCOUNT = frozenset({FailureKind.RATE_LIMITED, FailureKind.USAGE_LIMITED, FailureKind.BILLING})


class AccountLimit:
    """Judges the provider's errors, and holds of the account by other runs."""

    def __init__(self, clock: Clock, held_now: Callable[[], Awaitable[Failed | None]]) -> None:
        self._clock = clock
        self._held_now = held_now
        self.failed: Failed | None = None  # the limit that ends the turn
        self.last: Failed | None = None  # why the last failed call failed

    def judge(self, status: int, headers: Mapping[str, str], body: bytes) -> Limit | None:
        fault = read_fault(status, headers, _json_or_text(body))
        self.last = failed = failure_of(fault, LocalTime(now=self._clock.now()))
        is_announced = failed.kind is FailureKind.OVERLOADED and failed.retry_at is not None
        if failed.kind not in _OF_ACCOUNT and not is_announced:
            return None
        if failed.kind is FailureKind.RATE_LIMITED and failed.retry_at is None:
            return Limit(failed.message, 1.0)
        return self._limit(failed)

    def lost(self, error: UpstreamError) -> None:
        kind = FailureKind.BAD_REQUEST if error.is_permanent else FailureKind.NETWORK
        if isinstance(error, LoginError):
            kind = FailureKind.AUTH
        self.last = Failed(kind=kind, message=str(error))

    async def held(self) -> Limit | None:
        failed = await self._held_now()
        return None if failed is None else self._limit(failed)

    def _limit(self, failed: Failed) -> Limit:
        wait_s = SHORT_WAIT_S + 1
        if failed.retry_at is not None:
            wait_s = (failed.retry_at - self._clock.now()).total_seconds()
        if wait_s <= SHORT_WAIT_S:
            return Limit(failed.message, max(0.0, wait_s))
        self.failed = failed
        return Limit(failed.message, None)


def _json_or_text(body: bytes) -> object:
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body.decode(errors="replace")
    return value
