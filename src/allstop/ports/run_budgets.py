"""The protocol of a store that knows the budgets of runs which other processes drive."""

from collections.abc import Collection
from typing import Protocol

from allstop.core.brakes import Limits
from allstop.core.budget import Account
from allstop.core.ids import RunId


class RunBudgets(Protocol):
    """Each method raises StoreTroubleError if the store can't be reached now."""

    async def limits(self, run: RunId) -> Limits:
        """Return the limits that the run has now."""
        ...

    async def used_below(self, run: RunId, without: Collection[RunId]) -> Account:
        """Return what all runs below this one used and reserved, without open turns of some.

        The account has no limits. What nobody will free counts as spent: calls that have ended,
        and reservations of runs that no process drives.
        """
        ...
