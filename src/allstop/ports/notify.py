"""The protocol of a notification channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # alerts import rooms and boards, which users of other ports need not load
    from allstop.views.alerts import Alert


class Channel(Protocol):
    """One channel to a person."""

    @property
    def name(self) -> str:
        """The channel's name without secrets, for display and logs."""
        ...

    async def tell(self, alert: Alert) -> str:
        """Send an alert; returns why that failed, without secrets, or "". May be cancelled."""
        ...
