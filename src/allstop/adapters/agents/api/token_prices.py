"""What tokens cost, by the list of `genai-prices` as it was installed; nothing is downloaded."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from allstop.adapters.agents.api.call_usage import Spent

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice as ListPrice


MANY = 100_000_000
"""Tokens, so that every tier of a price is passed and no rounding counts."""


class OwnPrice(Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens; None means the list's."""

    input_mtok: float | None = None
    output_mtok: float | None = None
    cache_read_mtok: float | None = None
    cache_write_mtok: float | None = None


class Tariff:
    """The price of one agent's model. A model that nobody has a price for costs nothing."""

    def __init__(
        self, model: str, *, provider: str = "", own: OwnPrice | None = None, free: bool = False
    ) -> None:
        """`free`: a subscription, whose tokens are only counted."""
        from genai_prices import Usage, types

        self._usage, self._price = Usage, types.ModelPrice
        self._model = model
        self._provider = provider
        self._own = own
        self._free = free

    def microusd(self, spent: Spent, at: datetime) -> int:
        if self._free:
            return 0
        price = self._with_own(self._listed(at))
        if price is None:
            return 0
        usage = self._usage(
            input_tokens=spent.input,
            cache_read_tokens=spent.cached,
            cache_write_tokens=spent.written,
            cache_write_1h_tokens=spent.written if spent.for_hour else None,
            output_tokens=spent.output,
        )
        return round(price.calc_price(usage)["total_price"] * 1_000_000)

    def dearest(self, at: datetime) -> float:
        """Micro-dollars for one token of the dearest kind, in the dearest tier of the list."""
        full = Spent(input=MANY)
        kinds = (
            (Spent(), full),
            (Spent(), Spent(input=MANY, written=MANY)),
            (Spent(), Spent(input=MANY, written=MANY, for_hour=True)),
            (Spent(), Spent(output=MANY)),
            (full, Spent(input=MANY, output=MANY)),
        )
        costs = [self.microusd(more, at) - self.microusd(less, at) for less, more in kinds]
        return max(0, *costs) / MANY

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
