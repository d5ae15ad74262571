"""Prices of tokens, from the installed `genai-prices` list; nothing is downloaded."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from allstop.adapters.agents.api.call_usage import TokenCounts

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice as ListPrice


MANY_TOKENS = 100_000_000
"""Enough to reach every price tier and to make rounding irrelevant."""


class PriceOverride(Struct, frozen=True, kw_only=True):
    """US dollars per million tokens; None uses the listed price."""

    input_mtok: float | None = None
    output_mtok: float | None = None
    cache_read_mtok: float | None = None
    cache_write_mtok: float | None = None


class TokenPrice:
    """The price of one agent's model; a model without a known price costs nothing."""

    def __init__(
        self,
        model: str,
        *,
        provider: str = "",
        own: PriceOverride | None = None,
        free: bool = False,
    ) -> None:
        """`free`: a subscription; its tokens are counted but cost nothing."""
        from genai_prices import Usage, types

        self._usage, self._price = Usage, types.ModelPrice
        self._model = model
        self._provider = provider
        self._own = own
        self._free = free

    def is_known(self, at: datetime) -> bool:
        return self._free or self._with_own(self._listed(at)) is not None

    def is_bounded(self, at: datetime) -> bool:
        """Whether a limit on money can hold: models on the person's own machine cost none."""
        return not self._provider or self.is_known(at)

    def microusd(self, counts: TokenCounts, at: datetime) -> int:
        return self._cost(None if self._free else self._with_own(self._listed(at)), counts)

    def _cost(self, price: ListPrice | None, counts: TokenCounts) -> int:
        if price is None:
            return 0
        usage = self._usage(
            input_tokens=counts.input,
            cache_read_tokens=counts.cached,
            cache_write_tokens=counts.written,
            cache_write_1h_tokens=counts.written if counts.for_hour else None,
            output_tokens=counts.output,
        )
        return round(price.calc_price(usage)["total_price"] * 1_000_000)

    def most_microusd(self, total: int, output: int, at: datetime) -> int:
        """The cost of a call if all its input is of the most expensive kind."""
        kinds = (
            TokenCounts(input=total, output=output),
            TokenCounts(input=total, written=total, output=output),
            TokenCounts(input=total, written=total, output=output, for_hour=True),
        )
        price = None if self._free else self._with_own(self._listed(at))
        return max(self._cost(price, counts) for counts in kinds)

    def highest_price(self, at: datetime) -> float:
        """Micro-dollars per token of the most expensive kind, in the most expensive tier."""
        full = TokenCounts(input=MANY_TOKENS)
        kinds = (
            (TokenCounts(), full),
            (TokenCounts(), TokenCounts(input=MANY_TOKENS, written=MANY_TOKENS)),
            (TokenCounts(), TokenCounts(input=MANY_TOKENS, written=MANY_TOKENS, for_hour=True)),
            (TokenCounts(), TokenCounts(output=MANY_TOKENS)),
            (full, TokenCounts(input=MANY_TOKENS, output=MANY_TOKENS)),
        )
        costs = [self.microusd(more, at) - self.microusd(less, at) for less, more in kinds]
        return max(0, *costs) / MANY_TOKENS

    def _listed(self, at: datetime) -> ListPrice | None:
        from genai_prices.data_snapshot import get_snapshot

        if not self._provider:
            return None
        try:
            _, model = get_snapshot().find_provider_model(self._model, None, self._provider, None)
        except LookupError:
            return None
        return model.get_prices(at)

    def _with_own(self, listed: ListPrice | None) -> ListPrice | None:
        own = self._own
        if own is None:
            return listed
        given = {name: getattr(own, name) for name in own.__struct_fields__}
        prices = {name: Decimal(str(value)) for name, value in given.items() if value is not None}
        kept = {} if listed is None else {k: v for k, v in vars(listed).items() if k[0] != "_"}
        return self._price(**{**kept, **prices})
