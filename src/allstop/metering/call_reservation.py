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

USEFUL_REPLY = 8_000
"""A lower output cap waits for calls under way, which may leave more."""

LONGEST_REPLY = 128_000
"""The output cap of a call without one: no more, so that calls at the same time needn't wait."""


class Reservation(Struct, frozen=True, kw_only=True):
    """What is set aside for one call."""

    input: int  # as expected
    spare: int = 0  # input that can come to it at most
    output: int | None  # the output cap to send; None: there is no budget, or no cap is possible
    cost_microusd: int = 0
    is_lowered: bool = False  # to what the budget leaves

    @property
    def tokens(self) -> int:
        return self.input + self.spare + (self.output or 0)


Cost = Callable[[int, int], int]
"""The most that so many tokens of input and output can cost, in micro-dollars."""


def plan_call(
    estimated: int,
    wanted: int | None,
    tokens_left: int | None,
    microusd_left: int | None,
    cost: Cost,
    spare: int = 0,
) -> Reservation | None:
    """The reservation of a call of `estimated` input tokens, and `spare`; None if it doesn't fit."""
    if tokens_left is None and microusd_left is None:
        return Reservation(input=estimated, output=None)
    wanted = output = wanted or LONGEST_REPLY
    total = estimated + spare
    if tokens_left is not None:
        output = min(output, tokens_left - total)
    if microusd_left is not None:
        output = _affordable(output, microusd_left, lambda most: cost(total, most))
    if output < MIN_OUTPUT:
        return None
    return Reservation(
        input=estimated,
        spare=spare,
        output=output,
        cost_microusd=cost(total, output),
        is_lowered=output < wanted,
    )


def lacks_price(model: str) -> str:
    """Why a limit on money allows no call of a model without a known price."""
    name = model.replace('"', "")
    return (
        f"the cost is limited, and the price of the model {name!r} is not known: "
        f'set it in [prices."{name}"], or limit tokens instead'
    )


def lacks_price_of(option: str) -> str:
    """Why a limit on money allows no call with an option that costs more."""
    return (
        f"the cost is limited, and the price of {option} is not known: leave it out of the "
        "agent's settings, or limit tokens instead"
    )


class CallEstimates:
    """Plans the calls of one turn by what its earlier calls have shown."""

    def __init__(self) -> None:
        self._tokens_per_byte = 1 / BYTES_PER_TOKEN

    def plan(
        self,
        call: ModelCall,
        tokens_left: int | None,
        microusd_left: int | None,
        cost: Cost,
        *,
        is_alone: bool = True,
    ) -> Reservation | None:
        """The reservation of a call within what is left; None if it doesn't fit.

        Beside others a call gets room for the most tokens that its body can have, so that all of
        them together pass a budget by no more than one call can that was alone.
        """
        estimated = self.input_of(call.size)
        spare = most_input_of(call.size) - estimated
        planned = plan_call(estimated, call.wanted, tokens_left, microusd_left, cost, spare)
        if planned is not None and not planned.is_lowered:
            return planned
        if is_alone:
            return plan_call(estimated, call.wanted, tokens_left, microusd_left, cost)
        is_useful = planned is not None and (planned.output or 0) >= USEFUL_REPLY
        return planned if is_useful else None

    def learn(self, call: ModelCall, usage: CallUsage) -> None:
        """Expect no fewer tokens for a body of this size from now on."""
        if not call.has_references and usage.input <= call.size + HIDDEN_TOKENS:
            self._tokens_per_byte = max(self._tokens_per_byte, _density(usage.input, call.size))

    def input_of(self, size: int) -> int:
        """The input tokens to expect of a body, by the densest body of this turn."""
        return math.ceil(size * self._tokens_per_byte) + HIDDEN_TOKENS


def most_input_of(size: int) -> int:
    """The most tokens that a body can have: each has at least one byte."""
    return size + HIDDEN_TOKENS


def usage_of(
    reported: Reported,
    reservation: Reservation,
    call: ModelCall,
    chars: int,
    *,
    has_left: bool = False,
) -> CallUsage:
    """The tokens to charge: as reported, or estimated where the report is missing or nonsense.

    No token is shorter than a byte, and no reply longer than its cap. `has_left`: the agent itself
    closed the connection. It pays for the most that the body can have, so that nothing is cheaper
    for being cut off before the report.
    """
    total = reported.input
    if total is None and has_left:
        total = most_input_of(call.size)
    may_be_more = call.has_references or call.has_hosted_tools
    if not total or (total > call.size + PLAUSIBLE_EXTRA and not may_be_more):
        total = reservation.input
    output = reported.output
    if output is None or (output == 0 and chars):
        output = chars if has_left else tokens_of(chars)
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
