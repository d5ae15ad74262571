"""Retries: backoff, and how long to wait for an agent at its provider's limit."""

from datetime import datetime, timedelta
from typing import Self

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from allstop.core.moves import Failed
from allstop.core.text import counted


class Backoff(Struct, frozen=True, gc=False, kw_only=True):
    """Waits of 2 s, 4 s, 8 s …, each with up to 10 % jitter so that retries don't coincide."""

    first_s: float = 2.0
    factor: float = 2.0
    most_s: float = 300.0
    jitter: float = 0.1
    retries: int = 2

    def delay(self, attempt: int, seed: str) -> timedelta:
        """The wait before retry number `attempt`, counted from 1; deterministic for a seed."""
        # a float power overflows long before the exponent stops growing
        exponent = min(attempt - 1, 64)
        span = min(self.first_s * self.factor**exponent, self.most_s)
        return timedelta(seconds=span * (1 + self.jitter * _jitter_share(seed, attempt)))


LIMIT_BACKOFF = Backoff(first_s=5.0, factor=3.0, retries=3)
"""For a limited agent that gives no retry time: 5 s, 15 s, 45 s …"""


def retry_time(told: datetime | None, at: datetime, attempt: int, seed: str) -> datetime:
    """When to retry a limited agent: at a future time that it gave, else by backoff."""
    return told if told is not None and told > at else at + LIMIT_BACKOFF.delay(attempt, seed)


def has_retry_time(failed: Failed, at: datetime) -> bool:
    """Whether the failure gives a retry time in the future."""
    return failed.retry_at is not None and failed.retry_at > at


class LimitStreak(Struct, frozen=True, gc=False, kw_only=True):
    """Limit failures of an agent in a row, and since when they give no retry time."""

    times: int = 0
    since: datetime | None = None

    def extended(self, failed: Failed, at: datetime) -> Self:
        since = None if has_retry_time(failed, at) else self.since or at
        return replace(self, times=self.times + 1, since=since)


NO_STREAK = LimitStreak()


class LimitPatience(Struct, frozen=True, gc=False, kw_only=True):
    """How long a run waits for a limited agent that gives no retry time."""

    guesses: int = 3  # tries if the limit was only guessed: each try is a whole turn
    most_s: float | None = None  # None: forever
    # take the first agent back once its limit is over; unset: the run has the rules of edition 1
    recover: bool | UnsetType = UNSET

    @property
    def edition(self) -> int:
        """The version of the rules about limits; from 2: those of `accounts.after_limit`."""
        return 1 if self.recover is UNSET else 2

    def is_out_of_guesses(self, failed: Failed, before: LimitStreak) -> bool:
        return failed.guessed and failed.retry_at is None and before.times >= self.guesses

    def overdue_reason(self, failed: Failed, at: datetime, before: LimitStreak) -> str:
        """A note if the limit has lasted for too long; else ""."""
        since = before.extended(failed, at).since
        if since is None or self.most_s is None or (at - since).total_seconds() < self.most_s:
            return ""
        return f"still so after {self.most_s / 3600:g} h"

    def give_up_reason(self, failed: Failed, at: datetime, before: LimitStreak) -> str:
        """Why the run stops waiting for the agent; "" if it waits again."""
        if self.is_out_of_guesses(failed, before):
            return f"still so, {counted(before.times + 1, 'time')} in a row"
        return self.overdue_reason(failed, at, before)


def _jitter_share(seed: str, attempt: int) -> float:
    import hashlib  # loads OpenSSL, which read-only commands don't need

    digest = hashlib.blake2s(f"{seed}:{attempt}".encode(), digest_size=2).digest()
    return int.from_bytes(digest) / 0xFFFF
