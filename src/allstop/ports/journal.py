"""The journal's protocol: an append-only record of each run's events."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from allstop.core.errors import AllstopError
from allstop.core.events import Event
from allstop.core.ids import RunId, WriteId


class Entry(Struct, frozen=True, gc=False):
    run: RunId
    event: Event


class Record(NamedTuple):
    run: RunId
    seq: int
    event: Event


class PositionedRecord(NamedTuple):
    """A record and its position among the records of all runs."""

    pos: int
    record: Record


class Cursor(Struct, frozen=True, gc=False):
    """How far a reader has read a run and the helm, and optionally the records of all runs."""

    run: RunId
    seq: int
    helm: int
    place: int | None = None  # no other process has written after this position


class Head(NamedTuple):
    """Facts about a run that are known without reading its events."""

    run: RunId
    kind: str
    parent: RunId | None
    seq: int
    opened_at: datetime
    closed: bool


class Holder(Struct, frozen=True, kw_only=True):
    """The process that drives a run."""

    pid: int
    host: str
    command: str
    since: datetime


class StaleError(Exception):
    """Another writer wrote to the run or the helm first: read the run again."""


class HeldError(AllstopError):
    """Another process drives this run."""

    default_code = "held"

    def __init__(self, run: RunId, holder: Holder | None) -> None:
        who = (
            f"process {holder.pid} on {holder.host} ({holder.command})"
            if holder
            else "another process"
        )
        super().__init__(f"{run} is driven by {who}", "stop that process first, or let it finish")
        self.run = run
        self.holder = holder


class StoreFullError(AllstopError):
    """The journal's disk is full: nothing can be written until there is space."""

    default_code = "store_full"


class StoreBusyError(AllstopError):
    """Another process keeps the journal locked: nothing can be written until it unlocks it."""

    default_code = "store_busy"


class StoreBrokenError(AllstopError):
    """The journal can't be read, or has another version."""

    default_code = "store_broken"


Listener = Callable[[RunId, int], None]
"""Gets the run and its newest number. Called on the event loop's thread; must return at once."""

Alarm = Callable[[], None]
"""Called on the event loop's thread, between two writes; must return at once."""


def no_alarm() -> None:
    """Does nothing; the default alarm."""


class Journal(Protocol):
    """Keeps the events of each run in order, numbered from 1 without gaps."""

    async def append(
        self, *entries: Entry, expect: Cursor | None = None, write: WriteId | None = None
    ) -> None:
        """Write all entries or none; when it returns they are durable.

        A write that has begun can't be cancelled. Cancelled earlier, an append without `expect`
        writes nothing. A `write` id that is already in the journal is not written again.

        Raises StaleError if more has been written since `expect`, StoreFullError if the disk is
        full, and StoreBusyError if another process keeps the journal locked.
        """
        ...

    async def read(
        self, run: RunId, after: int = 0, most: int | None = None
    ) -> Sequence[Record]: ...

    async def written(self, after: int, most: int) -> Sequence[PositionedRecord]:
        """Return records of all runs, the helm too, in the order in which they became durable.

        Positions grow and are never reused, so a reader can continue from a stored position.
        """
        ...

    async def last_place(self) -> int:
        """Return the position of the newest record; 0 if there is none."""
        ...

    async def heads(self) -> Sequence[Head]:
        """Return every run, the oldest first; the helm and the accounts are none."""
        ...

    def listen(self, listener: Listener, alarm: Alarm = no_alarm) -> AbstractContextManager[None]:
        """Call `listener` for every write of any process, while `watch_writes` runs.

        `alarm` is called when a stop is about to be written that can't be taken back. Later writes
        come after the stop, and writing it may take long.
        """
        ...

    async def watch_writes(self) -> None:
        """Run until cancelled; notices writes of other processes."""
        ...

    def claim(self, run: RunId) -> AbstractContextManager[None]:
        """Claim the right to drive this run and all below it, until the block or process ends.

        Raises HeldError if another process has it.
        """
        ...

    def holders(self) -> Mapping[RunId, Holder | None]:
        """Return the claimed runs and the processes that hold them."""
        ...
