"""The token budget of one turn: reserved before each model call, settled after it."""

import math
from enum import Enum

from msgspec import Struct

from allstop.metering.request_body import MIN_OUTPUT, ModelCall
from allstop.metering.usage import CallUsage, Reported

BYTES_PER_TOKEN = 3.0
"""Of a request's body: fewer than in practice, so that the reservation is rarely too small."""

HIDDEN_TOKENS = 400
"""Providers add instructions of their own to some requests, for example if there are tools."""

PLAUSIBLE_EXTRA = 5_000
"""Reported input tokens beyond the bytes of the body, above which a report is nonsense."""

LONGEST_REPLY = 128_000
"""The output cap of a call without one: no more, so that calls at the same time needn't wait."""

CHARS_PER_TOKEN = 3.0
"""Of a reply whose usage is unknown."""


class Reservation(Struct, frozen=True, kw_only=True):
    """The tokens that are set aside for one call."""

    input: int
    output: int | None  # the output cap to send; None: the turn has no budget
    is_lowered: bool = False  # to what the budget leaves

    @property
    def tokens(self) -> int:
        return self.input + (self.output or 0)


class Denied(Enum):
    """Why a call can't be made now."""

    WAIT = "wait"  # it may fit after the calls under way are settled
    OVER = "over"


class TurnBudget:
    """Counts the tokens of all calls of one turn. `limit` None counts without a limit."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.used = 0
        self.reserved = 0
        self._tokens_per_byte = 1 / BYTES_PER_TOKEN

    def reserve(self, call: ModelCall) -> Reservation | Denied:
        estimated = self.input_of(call.size)
        if self.limit is None:
            return Reservation(input=estimated, output=None)
        left = self.limit - self.used - self.reserved - estimated
        if left < MIN_OUTPUT:
            fits_later = left + self.reserved >= MIN_OUTPUT
            return Denied.WAIT if fits_later else Denied.OVER
        wanted = call.wanted or LONGEST_REPLY
        output = min(left, wanted)
        is_lowered = output < wanted
        reservation = Reservation(input=estimated, output=output, is_lowered=is_lowered)
        self.reserved += reservation.tokens
        return reservation

    def settle(self, call: ModelCall, reservation: Reservation, usage: CallUsage | None) -> None:
        """Charge the usage instead of the reservation; None: the call was never made."""
        if self.limit is not None:
            self.reserved -= reservation.tokens
        if usage is not None:
            self.used += usage.tokens
            if not call.has_references:
                self._tokens_per_byte = max(self._tokens_per_byte, _density(usage.input, call.size))

    def input_of(self, size: int) -> int:
        """The input tokens to expect of a body, by the densest body of this turn."""
        return math.ceil(size * self._tokens_per_byte) + HIDDEN_TOKENS


def usage_of(
    reported: Reported, reservation: Reservation, call: ModelCall, chars: int
) -> CallUsage:
    """The tokens to charge: as reported, or estimated where the report is missing or nonsense.

    No token is shorter than a byte, and no reply longer than its cap.
    """
    total = reported.input
    if not total or (total > call.size + PLAUSIBLE_EXTRA and not call.has_references):
        total = reservation.input
    output = reported.output
    if output is None or (output == 0 and chars):
        output = math.ceil(chars / CHARS_PER_TOKEN)
    if reservation.output is not None:
        output = min(output, reservation.output)
    cached = min(reported.cached or 0, total)
    return CallUsage(
        input=total,
        cached=cached,
        written=min(reported.written or 0, total - cached),
        output=output,
        reasoning=min(reported.reasoning or 0, output),
        for_hour=reported.for_hour,
    )


def _density(tokens: int, size: int) -> float:
    return min(1.0, max(0, tokens - HIDDEN_TOKENS) / size)
