"""When to try again."""

from datetime import datetime, timedelta

from msgspec import Struct

from allstop.core.moves import Failed


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


def is_in_vain(failed: Failed, tried: int, most: int) -> bool:
    """Whether it only seems to be a limit, and waiting has not helped: each try is a whole turn."""
    return failed.guessed and failed.retry_at is None and tried >= most


def _share(seed: str, attempt: int) -> float:
    import hashlib  # it loads OpenSSL, and whoever only looks waits for nothing

    digest = hashlib.blake2s(f"{seed}:{attempt}".encode(), digest_size=2).digest()
    return int.from_bytes(digest) / 0xFFFF
