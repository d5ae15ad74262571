"""Under a limit on money, no call is made of a model without a known price."""

from __future__ import annotations

from collections.abc import Callable

from allstop.metering.call_reservation import lacks_price
from allstop.ports import CallAccount


class MoneyLimit:
    def __init__(self, account: CallAccount, *, is_priced: Callable[[str], bool]) -> None:
        self._account = account
        self._is_priced = is_priced
        self.lacks_price = False  # a call was refused for that, and another turn's would be too

    def unpaid(self, model: str) -> str:
        """Why no call of this model may be made; "" if it may."""
        if self._account.left.microusd is None or self._is_priced(model):
            return ""
        self.lacks_price = True
        return lacks_price(model)
