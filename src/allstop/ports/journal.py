"""Where what happened is kept."""

from __future__ import annotations

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


class Placed(NamedTuple):
    """A record and its place among those of all runs."""

    pos: int
    record: Record


class Cursor(Struct, frozen=True, gc=False):
    """How far someone has read a run, and the helm; where it matters, also all that others wrote."""

    run: RunId
    seq: int
    helm: int
    place: int | None = None  # nothing that another process wrote comes after it


class Head(NamedTuple):
    """What is known of a run without reading it."""

    run: RunId
    kind: str
    parent: RunId | None
    seq: int
    opened_at: datetime
    closed: bool


class Holder(Struct, frozen=True, kw_only=True):
    """Who drives a run."""

    pid: int
    host: str
    command: str
    since: datetime


class StaleError(Exception):
    """Someone wrote to the run or to the helm first: read again and think again."""


class HeldError(AllstopError):
    """Another process drives this run."""

    default_code = "held"

    def __init__(self, run: RunId, holder: Holder | None) -> None:
        who = (
            f"process {holder.pid} on {holder.host} ({holder.command})"
            if holder
            else "another process"
        )
        super().__init__(f"{run} is being driven by {who}", "stop that one first, or let it finish")
        self.run = run
        self.holder = holder


class StoreFullError(AllstopError):
    """The disk that holds the store is full: nothing can be written until there is room."""

    default_code = "store_full"


class StoreBusyError(AllstopError):
    """Another process keeps the store locked: nothing can be written until it lets go."""

    default_code = "store_busy"


class StoreBrokenError(AllstopError):
    """The store can't be read or is of another version."""

    default_code = "store_broken"


Ear = Callable[[RunId, int], None]
"""Is told the run and its newest number. Called on the loop's thread; must return at once."""

Alarm = Callable[[], None]
"""Called on the loop's thread too, between two writes; must return at once."""


def quiet() -> None:
    """No alarm."""


class Journal(Protocol):
    """Keeps what happened to each run, in order, numbered from 1 without gaps."""

    async def append(
        self, *entries: Entry, expect: Cursor | None = None, write: WriteId | None = None
    ) -> None:
        """Write all entries or none; when it returns they are durable.

        Once it has begun it can't be cancelled half-way; cancelled before, one that expects
        nothing writes nothing. A `write` that is already in the journal is not written again.

        Raises:
            StaleError: `expect` is given and more has been written since.
            StoreFullError: there is no room.
            StoreBusyError: another process doesn't let go of the store.
        """
        ...

    async def read(
        self, run: RunId, after: int = 0, most: int | None = None
    ) -> Sequence[Record]: ...

    async def written(self, after: int, most: int) -> Sequence[Placed]:
        """What was written to all runs, the helm too, in the order in which it became durable.

        Places grow, and none is given twice; whoever remembers one can go on from there later.
        """
        ...

    async def last_place(self) -> int:
        """Of the newest record; 0 while there is none."""
        ...

    async def heads(self) -> Sequence[Head]:
        """Every run but the helm, oldest first."""
        ...

    def listen(self, ear: Ear, alarm: Alarm = quiet) -> AbstractContextManager[None]:
        """Tell `ear` of every write from now on, by whomever, while `attend` runs.

        `alarm` is called where a stop is about to be written that nobody can take back: whatever
        is written later comes after it, and a disk may take long.
        """
        ...

    async def attend(self) -> None:
        """Runs until cancelled: hears what other processes write."""
        ...

    def claim(self, run: RunId) -> AbstractContextManager[None]:
        """The right to drive this run and all below it. It ends with the block or the process.

        Raises:
            HeldError: another process has it.
        """
        ...

    def holders(self) -> Mapping[RunId, Holder | None]:
        """Which runs are claimed now, and by whom."""
        ...
