"""What a call has used, by what the provider says, or by an estimate where it says nonsense."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from allstop.core.context_window import CHARS_PER_TOKEN, estimate
from allstop.core.moves import Failed, FailureKind, Usage

ABSURD = 10**9


class Reported(Struct, frozen=True, kw_only=True):
    """As it came: anything may be missing, negative or no number."""

    input: object = None  # with the cached and the written ones
    cached: object = None
    written: object = None
    output: object = None


class Spent(Struct, frozen=True, kw_only=True):
    input: int = 0  # with the cached and the written ones
    cached: int = 0
    written: int = 0
    output: int = 0
    for_hour: bool = False  # the written ones are to be remembered that long


def spent(reported: Reported, chars_in: int, chars_out: int, *, for_hour: bool = False) -> Spent:
    read = counted(reported.input) or estimate(chars_in, CHARS_PER_TOKEN)
    cached = min(counted(reported.cached) or 0, read)
    return Spent(
        input=read,
        cached=cached,
        written=min(counted(reported.written) or 0, read - cached),
        output=counted(reported.output) or estimate(chars_out, CHARS_PER_TOKEN),
        for_hour=for_hour,
    )


def capped(usage: Usage, max_tokens: int) -> Failed:
    """The end of a turn that came to its cap; the words are the same each time."""
    message = f"it used all of the {max_tokens:,} tokens of its turn"
    return Failed(kind=FailureKind.CAPPED, message=message, usage=usage)


def counted(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= ABSURD:
        return None
    return value


def total(values: Iterable[object]) -> int | None:
    """The sum, if every one of them is a count."""
    counts = [counted(value) for value in values]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
