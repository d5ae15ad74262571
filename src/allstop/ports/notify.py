"""Where a person is told things."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # it knows rooms and boards, which whoever needs another port need not load
    from allstop.views.alerts import Alert


class Teller(Protocol):
    """One way to reach a person."""

    @property
    def name(self) -> str:
        """As it may be shown and logged: no part of it is a secret."""
        ...

    async def tell(self, alert: Alert) -> str:
        """Why it could not be told, without any secret; "" where it was. May be cut off."""
        ...
