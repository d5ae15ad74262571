"""The tokens of a call: as the provider reports them, or estimated if the report is invalid."""

from collections.abc import Iterable

from msgspec import Struct

from allstop.core.context_window import CHARS_PER_TOKEN, estimate
from allstop.core.moves import Failed, FailureKind, Usage
from allstop.metering.usage import as_count


class ReportedUsage(Struct, frozen=True, kw_only=True):
    """The provider's raw report: any value may be missing, negative or not a number."""

    input: object = None  # includes `cached` and `written`
    cached: object = None
    written: object = None
    output: object = None
    reasoning: object = None


class TokenCounts(Struct, frozen=True, kw_only=True):
    input: int = 0  # includes `cached` and `written`
    cached: int = 0
    written: int = 0
    output: int = 0  # includes `reasoning`
    reasoning: int = 0
    for_hour: bool = False  # `written` tokens stay in the cache for an hour


def count_tokens(
    reported: ReportedUsage, chars_in: int, chars_out: int, *, for_hour: bool = False
) -> TokenCounts:
    total_input = as_count(reported.input) or estimate(chars_in, CHARS_PER_TOKEN)
    cached = min(as_count(reported.cached) or 0, total_input)
    output = as_count(reported.output) or estimate(chars_out, CHARS_PER_TOKEN)
    return TokenCounts(
        input=total_input,
        cached=cached,
        written=min(as_count(reported.written) or 0, total_input - cached),
        output=output,
        reasoning=min(as_count(reported.reasoning) or 0, output),
        for_hour=for_hour,
    )


def capped_turn(usage: Usage, max_tokens: int) -> Failed:
    """The failure of a turn that reached its token cap."""
    message = f"the turn used all of its {max_tokens:,} tokens"
    return Failed(kind=FailureKind.CAPPED, message=message, usage=usage)


def total(values: Iterable[object]) -> int | None:
    """The sum, or None if a value is not a count."""
    counts = [as_count(value) for value in values]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
