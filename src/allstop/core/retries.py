"""When to try again."""

from datetime import datetime, timedelta
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.moves import Failed
from allstop.core.text import counted


class Backoff(Struct, frozen=True, gc=False, kw_only=True):
    """Waits of 2 s, 4 s, 8 s …, each up to a tenth longer so that many don't come back at once."""

    first_s: float = 2.0
    factor: float = 2.0
    most_s: float = 300.0
    jitter: float = 0.1
    retries: int = 2

    def delay(self, attempt: int, seed: str) -> timedelta:
        """The wait before retry number `attempt`, counted from 1; the same for the same seed."""
        # a float power overflows long before the exponent stops growing
        exponent = min(attempt - 1, 64)
        span = min(self.first_s * self.factor**exponent, self.most_s)
        return timedelta(seconds=span * (1 + self.jitter * _share(seed, attempt)))


LIMIT_WAITS = Backoff(first_s=5.0, factor=3.0, retries=3)
"""How long a limited agent is left alone when it doesn't say: 5 s, 15 s, 45 s …"""


def back_at(told: datetime | None, at: datetime, attempt: int, seed: str) -> datetime:
    """When a limited agent is asked again: at the time it was told, if that is still to come."""
    return told if told is not None and told > at else at + LIMIT_WAITS.delay(attempt, seed)


def says_when(failed: Failed, at: datetime) -> bool:
    """Whether it is known when the limit is over: a time that has passed is none."""
    return failed.retry_at is not None and failed.retry_at > at


class Standstill(Struct, frozen=True, gc=False, kw_only=True):
    """An agent at its limit: how often in a row, and since when with nobody saying until when."""

    times: int = 0
    since: datetime | None = None

    def again(self, failed: Failed, at: datetime) -> Self:
        since = None if says_when(failed, at) else self.since or at
        return replace(self, times=self.times + 1, since=since)


MOVING = Standstill()


class Endurance(Struct, frozen=True, gc=False, kw_only=True):
    """For how long an agent at its limit is waited for that doesn't say until when."""

    guesses: int = 3  # where it only seems to be at one: each try is a whole turn
    most_s: float | None = None  # None: for ever

    def is_in_vain(self, failed: Failed, before: Standstill) -> bool:
        return failed.guessed and failed.retry_at is None and before.times >= self.guesses

    def outlasted(self, failed: Failed, at: datetime, before: Standstill) -> str:
        """In words, that it has lasted for too long; "" where it has not."""
        since = before.again(failed, at).since
        if since is None or self.most_s is None or (at - since).total_seconds() < self.most_s:
            return ""
        return f"still so after {self.most_s / 3600:g} h"

    def over(self, failed: Failed, at: datetime, before: Standstill) -> str:
        """Why it is not waited for once more; "" where it is."""
        if self.is_in_vain(failed, before):
            return f"still so, {counted(before.times + 1, 'time')} in a row"
        return self.outlasted(failed, at, before)


def _share(seed: str, attempt: int) -> float:
    import hashlib  # it loads OpenSSL, and whoever only looks waits for nothing

    digest = hashlib.blake2s(f"{seed}:{attempt}".encode(), digest_size=2).digest()
    return int.from_bytes(digest) / 0xFFFF
