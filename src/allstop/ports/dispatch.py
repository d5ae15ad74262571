"""The protocol of the queue by which runs are handed out to workers."""

from collections.abc import Collection, Set
from typing import NamedTuple, Protocol

from allstop.core.ids import RunId


class Handout(NamedTuple):
    """A run that a worker may take, if it offers everything that the run needs."""

    run: RunId
    needs: frozenset[str]
    priority: int = 0  # higher ones come first


class Dispatch(Protocol):
    """Which run is driven next, and where. It is a buffer: the journal knows the truth.

    It may lose a run, or give it to two workers: the claim on the run decides.

    Each method raises StoreTroubleError if the queue can't be reached now.
    """

    async def put(self, handouts: Collection[Handout]) -> None:
        """Add runs; one that is queued already stays as it is."""
        ...

    async def queued(self) -> Set[RunId]: ...

    async def take(self, offers: Set[str]) -> RunId | None:
        """Take the first run that needs nothing else than these; None if there is none."""
        ...
