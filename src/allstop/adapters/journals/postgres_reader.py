"""Reads a journal on PostgreSQL, with or without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread
import msgspec

from allstop.adapters.journals.event_errors import unreadable
from allstop.adapters.journals.postgres_connection import Link
from allstop.adapters.journals.postgres_processes import KNOWN, row_of
from allstop.adapters.journals.postgres_schema import prepare
from allstop.adapters.journals.stop_file import StopFile
from allstop.core.events import Event
from allstop.core.ids import STREAMS, RunId
from allstop.ports import Clock, Head, Holder, PositionedRecord, Record
from allstop.views.machines import ProcessRow

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
Row = Sequence[object]

HOLDERS = """
select c.run, p.pid, p.host, p.command, c.since, p.world, p.worker, p.started, p.id,
    c.epoch
from allstop.claims c join allstop.processes p on p.id = c.process
where p.seen_at + p.lease > now()
"""


_WORKERS = """
select '', p.pid, p.host, p.command, p.since, p.world, p.worker, p.started, p.id, 0
from allstop.processes p where p.worker <> '' and p.seen_at + p.lease > now()
"""


class PostgresRecords:
    """The reading half of a `Journal`. Work on the connection is done in threads."""

    def __init__(
        self,
        url: str,
        folder: Path,
        repository: str = "",
        is_gone: Callable[[Holder], bool] = lambda holder: False,
    ) -> None:
        """`folder` is the project's on this machine, with its STOP file.

        `is_gone` says of a process whether it is one of this machine that has ended.
        """
        self.url = url
        self.folder = folder
        self.stop_file = StopFile(folder / "STOP")
        self._repository = repository
        self._is_gone = is_gone
        self._reader = Link(url, self._check)
        self._decode: Callable[[bytes], Event] = msgspec.json.Decoder(Event).decode

    def close(self) -> None:
        self._reader.close()

    async def read(self, run: RunId, after: int = 0, most: int | None = None) -> Sequence[Record]:
        rows = await self.query(
            "select e.seq, e.event from allstop.runs r join allstop.events e on e.run = r.id"
            " where r.run = %s and e.seq > %s order by e.seq limit %s",
            (run, after, most),
        )
        return [Record(run, seq, self._event(run, seq, event)) for seq, event in rows]

    async def written(self, after: int, most: int) -> Sequence[PositionedRecord]:
        rows = await self.query(
            "select e.pos, r.run, e.seq, e.event"
            " from allstop.events e join allstop.runs r on r.id = e.run"
            " where e.pos > %s order by e.pos limit %s",
            (after, most),
        )
        return [
            PositionedRecord(pos, Record(RunId(run), seq, self._event(RunId(run), seq, event)))
            for pos, run, seq, event in rows
        ]

    async def last_place(self) -> int:
        ((pos,),) = await self.query("select coalesce(max(pos), 0) from allstop.events", ())
        return int(pos)

    async def heads(self, *, open_only: bool = False, since: int = 0) -> Sequence[Head]:
        rows = await self.query(
            "select run, kind, parent, seq, opened_at, closed from allstop.runs"
            " where not (run = any(%s)) and not (closed and %s) and pos > %s order by id",
            (list(STREAMS), open_only, since),
        )
        return [
            Head(RunId(run), kind, parent and RunId(parent), seq, at, closed)
            for run, kind, parent, seq, at, closed in rows
        ]

    def workers(self) -> list[Holder]:
        """Return the workers that are not known to have ended, also those that drive nothing."""
        rows = self._reader.run(lambda connection: connection.execute(_WORKERS).fetchall())
        return [holder for holder in map(holder_of, rows) if not self._is_gone(holder)]

    def holders(self) -> dict[RunId, Holder | None]:
        """Return the runs that processes of any machine drive."""
        rows = self._reader.run(lambda connection: connection.execute(HOLDERS).fetchall())
        held = {RunId(str(row[0])): holder_of(row) for row in rows}
        return {run: holder for run, holder in held.items() if not self._is_gone(holder)}

    async def processes(self) -> list[ProcessRow]:
        """The processes of all machines that have not ended properly, by name."""
        return [row_of(row) for row in await self.query(KNOWN, ())]

    async def clock_ahead_s(self, clock: Clock) -> float:
        """How many seconds this machine's clock is ahead of the server's, at least."""
        before = clock.now()
        ((server,),) = await self.query("select clock_timestamp()", ())
        after = clock.now()
        if before <= server <= after:
            return 0.0
        nearest = before if server < before else after
        return float((nearest - server).total_seconds())

    async def is_abandoned(self, run: RunId) -> bool:
        """Whether a process that drove the run ended without giving up its claim."""
        claims = await self.query("select from allstop.claims where run = %s", (run,))
        return bool(claims) and run not in await call(self.holders)

    def is_full(self) -> bool:
        """Whether the next events can't be stored; the server's disk can't be seen from here."""
        return False

    def _check(self, connection: psycopg.Connection) -> None:
        prepare(connection, self._repository, writes=False)

    async def query(self, sql: str, values: Row) -> list[tuple]:  # type: ignore[type-arg]
        def work(connection: psycopg.Connection) -> list[tuple]:  # type: ignore[type-arg]
            return connection.execute(sql.encode(), values, binary=True).fetchall()

        return await call(lambda: self._reader.run(work))

    async def matching(self, sql: str, run: RunId, after: int) -> list[tuple[int, Event]]:
        """The events of a run that a query of numbers and events finds."""
        rows = await self.query(sql, (run, after))
        return [(seq, self._event(run, seq, event)) for seq, event in rows]

    def _event(self, run: RunId, seq: int, event: bytes) -> Event:
        try:
            return self._decode(event)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise unreadable(run, seq, error) from error


async def call(work: Callable[[], T]) -> T:
    """Call in a thread; without an event loop, here."""
    try:
        anyio.get_cancelled_exc_class()
    except RuntimeError:
        return work()
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def holder_of(row: Sequence[object]) -> Holder:
    """A row of HOLDERS."""
    _, pid, host, command, since, world, worker, started, process, _ = row
    return msgspec.convert(
        {
            "pid": pid,
            "host": host,
            "command": command,
            "since": since,
            "world": world,
            "worker": worker,
            "started": started,
            "process": str(process),
        },
        Holder,
    )
