"""What is reserved for a model call before it is made, and what it is charged after it."""

import math
from bisect import bisect_right
from collections.abc import Callable

from msgspec import Struct

from allstop.metering.request_body import MIN_OUTPUT, ModelCall
from allstop.metering.usage import CallUsage, Reported, tokens_of

BYTES_PER_TOKEN = 3.0
"""Of a request's body: fewer than in practice, so that the reservation is rarely too small."""

HIDDEN_TOKENS = 400
"""Providers add instructions of their own to some requests, for example if there are tools."""

PLAUSIBLE_EXTRA = 5_000
"""Reported input tokens beyond the bytes of the body, above which a report is nonsense."""

LONGEST_REPLY = 128_000
"""The output cap of a call without one: no more, so that calls at the same time needn't wait."""


class Reservation(Struct, frozen=True, kw_only=True):
    """What is set aside for one call."""

    input: int
    output: int | None  # the output cap to send; None: there is no budget, or no cap is possible
    cost_microusd: int = 0
    is_lowered: bool = False  # to what the budget leaves

    @property
    def tokens(self) -> int:
        return self.input + (self.output or 0)


Cost = Callable[[int, int], int]
"""The most that so many tokens of input and output can cost, in micro-dollars."""


def plan_call(
    estimated: int,
    wanted: int | None,
    tokens_left: int | None,
    microusd_left: int | None,
    cost: Cost,
) -> Reservation | None:
    """The reservation of a call of `estimated` input tokens; None if it doesn't fit."""
    if tokens_left is None and microusd_left is None:
        return Reservation(input=estimated, output=None)
    wanted = output = wanted or LONGEST_REPLY
    if tokens_left is not None:
        output = min(output, tokens_left - estimated)
    if microusd_left is not None:
        output = _affordable(output, microusd_left, lambda most: cost(estimated, most))
    if output < MIN_OUTPUT:
        return None
    return Reservation(
        input=estimated,
        output=output,
        cost_microusd=cost(estimated, output),
        is_lowered=output < wanted,
    )


def lacks_price(model: str) -> str:
    """Why a limit on money allows no call of a model without a known price."""
    name = model.replace('"', "")
    return (
        f"the cost is limited, and the price of the model {name!r} is not known: "
        f'set it in [prices."{name}"], or limit tokens instead'
    )


class CallEstimates:
    """Plans the calls of one turn by what its earlier calls have shown."""

    def __init__(self) -> None:
        self._tokens_per_byte = 1 / BYTES_PER_TOKEN

    def plan(
        self, call: ModelCall, tokens_left: int | None, microusd_left: int | None, cost: Cost
    ) -> Reservation | None:
        """The reservation of a call within what is left; None if it doesn't fit."""
        return plan_call(self.input_of(call.size), call.wanted, tokens_left, microusd_left, cost)

    def learn(self, call: ModelCall, usage: CallUsage) -> None:
        """Expect no fewer tokens for a body of this size from now on."""
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
        output = tokens_of(chars)
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


def _affordable(most: int, left: int, cost_of: Callable[[int], int]) -> int:
    """The longest reply, up to `most` tokens, that costs no more than what is left."""
    if most < MIN_OUTPUT or cost_of(most) <= left:
        return most
    return bisect_right(range(most), left, key=cost_of) - 1
