"""Under a limit on money, no call is made of a model without a known price."""

from __future__ import annotations

from collections.abc import Callable

from allstop.metering.call_reservation import lacks_price, lacks_price_of
from allstop.metering.request_body import ModelCall
from allstop.ports import CallAccount


class MoneyLimit:
    def __init__(
        self,
        account: CallAccount,
        *,
        is_priced: Callable[[str], bool],
        is_free: Callable[[str], bool],
    ) -> None:
        """`is_free`: as with a subscription."""
        self._account = account
        self._is_priced = is_priced
        self._is_free = is_free
        self.lacks_price = False  # a call was refused for that, and another turn's would be too

    def unpaid(self, call: ModelCall) -> str:
        """Why the call may not be made; "" if it may."""
        if self._account.left.microusd is None:
            return ""
        is_priced = self._is_priced(call.model)
        if is_priced and (not call.dearer or self._is_free(call.model)):
            return ""
        self.lacks_price = True
        return lacks_price_of(call.dearer) if is_priced else lacks_price(call.model)
