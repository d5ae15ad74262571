"""The journal's protocol: an append-only record of each run's events."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from allstop.core.budget import Amount, Cap
from allstop.core.errors import AllstopError
from allstop.core.events import Event
from allstop.core.ids import RunId, WriteId, with_ancestors


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


class Room(Struct, frozen=True, gc=False):
    """A limit for several turns together, and what a write adds to them."""

    cap: Cap
    asked: Amount
    since: datetime | None = None  # for all turns that began since then; or, if it is None:
    above: RunId = RunId("")  # for all turns of the runs below this one


class Cursor(Struct, frozen=True, gc=False):
    """How far a reader has read a run and the helm, and optionally the records of all runs."""

    run: RunId
    seq: int
    helm: int
    place: int | None = None  # no other process has written after this position
    rooms: tuple[Room, ...] = ()  # a store that counts turns checks these instead of `place`


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
    world: str = ""  # the boot and the pid namespace in which the pid is valid; "": those of here
    worker: str = ""  # the worker's name, in a fleet
    started: str = ""  # when the process began, as its machine's kernel says it
    process: str = ""  # its id in the store, if the store gives one

    @property
    def name(self) -> str:
        """How people and receipts call it; on a store of several machines with its host."""
        if not self.world:
            return f"process {self.pid}"
        worker = f"worker {self.worker}, " if self.worker else ""
        return f"{worker}process {self.pid} on {self.host}"


def is_driven(run: RunId, holders: Mapping[RunId, Holder | None]) -> bool:
    """Whether a process has claimed this run or one above it."""
    return any(each in holders for each in with_ancestors(run))


class StaleError(Exception):
    """Another writer wrote to the run or the helm first: read the run again."""


class NoRoomError(StaleError):
    """The write doesn't fit into its rooms any more."""


class HeldError(AllstopError):
    """Another process drives this run."""

    default_code = "held"

    def __init__(self, run: RunId, holder: Holder | None) -> None:
        where = f" on {holder.host}" if holder and not holder.world else ""
        who = f"{holder.name}{where} ({holder.command})" if holder else "another process"
        super().__init__(f"{run} is driven by {who}", "stop that process first, or let it finish")
        self.run = run
        self.holder = holder


class ClaimLostError(HeldError):
    """Another process has taken over a run that this one had claimed; it must stop driving it."""

    default_code = "claim_lost"


class StoreTroubleError(AllstopError):
    """Nothing can be written now; the same write may succeed later."""

    write: WriteId | None = None
    """Set if the write may have arrived: it must be repeated with this id."""


class StoreFullError(StoreTroubleError):
    """The journal's disk is full: nothing can be written until there is space."""

    default_code = "store_full"


class StoreBusyError(StoreTroubleError):
    """Another process keeps the journal locked: nothing can be written until it unlocks it."""

    default_code = "store_busy"


class StoreUnreachableError(StoreTroubleError):
    """The journal's database doesn't answer: nothing can be read or written until it does."""

    default_code = "store_unreachable"


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

        Raises StaleError if more has been written since `expect`; NoRoomError if the write doesn't
        fit into its `rooms`; ClaimLostError if another process has taken over the claim on
        `expect.run`, and StoreTroubleError if nothing can be written now.
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

    async def heads(self, *, open_only: bool = False, since: int = 0) -> Sequence[Head]:
        """Return the runs, the oldest first; the helm and the accounts are none.

        With `open_only`, closed runs are left out; with `since`, those without a record after that
        position.
        """
        ...

    def listen(
        self, listener: Listener, alarm: Alarm = no_alarm, cut_off: Alarm = no_alarm
    ) -> AbstractContextManager[None]:
        """Call `listener` for every write of any process, while `watch_writes` runs.

        `alarm` is called when a stop is about to be written that can't be taken back. Later writes
        come after the stop, and writing it may take long.

        `cut_off` is called when the store has not answered for so long that other processes may
        soon take over the claims of this one. All agents must be ended at once.
        """
        ...

    async def watch_writes(self) -> None:
        """Run until cancelled; notices writes of other processes."""
        ...

    def claim(self, run: RunId) -> AbstractAsyncContextManager[None]:
        """Claim the right to drive this run and all below it, until the block or process ends.

        In a fleet, another process can claim a run below it. A claim of a process that has not
        reached the store for some time may be taken over.

        Raises HeldError if another process has it.
        """
        ...

    def holders(self) -> Mapping[RunId, Holder | None]:
        """Return the claimed runs and the processes that hold them.

        While `watch_writes` runs, this may be a copy that is up to two seconds old.
        """
        ...
