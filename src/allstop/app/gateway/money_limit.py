"""Limits on money during one turn: no call once it is used up, or of a model without a price."""

from __future__ import annotations

from collections.abc import Callable


class MoneyLimit:
    """`left` is what the run's limits leave, in micro-dollars; None: there is no limit."""

    def __init__(
        self, left: int | None, *, is_priced: Callable[[str], bool], spent: Callable[[], int]
    ) -> None:
        self._left = left
        self._is_priced = is_priced
        self._spent = spent
        self.lacks_price = False  # a call was refused for that, and another turn's would be too

    def unpaid(self, model: str) -> str:
        """Why no call of this model may be made; "" if it may."""
        if self._left is None:
            return ""
        if not self._is_priced(model):
            self.lacks_price = True
            name = model.replace('"', "")
            return (
                f"the cost is limited, and the price of the model {name!r} is not known: "
                f'set it in [prices."{name}"], or limit tokens instead'
            )
        if (spent := self._spent()) >= self._left:
            left = max(0, self._left)
            return f"the turn has used ${spent / 1e6:.4f} of the ${left / 1e6:.4f} that were left"
        return ""
