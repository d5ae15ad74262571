"""Reads a journal's SQLite file without an event loop."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from allstop.adapters.journals.claims import Claims
from allstop.adapters.journals.event_errors import unreadable
from allstop.adapters.journals.sqlite_file import DAMAGE, broken_store, connect
from allstop.adapters.journals.sqlite_schema import MIGRATIONS
from allstop.adapters.journals.stop_file import StopFile
from allstop.core.events import Event
from allstop.core.ids import STREAMS, RunId
from allstop.ports import Clock, Head, Holder, PositionedRecord, Record, StoreBrokenError

MIN_FREE_BYTES = 64 * 1024


class SqliteRecords:
    """The reading half of a `Journal`."""

    def __init__(self, folder: Path, clock: Clock, migrations: Sequence[str] = MIGRATIONS) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self._db = connect(folder / "journal.db", migrations)
        self.stop_file = StopFile(folder / "STOP")
        self._claims = Claims(folder / "locks", clock)
        self._decode: Callable[[bytes], Event] = msgspec.json.Decoder(Event).decode

    def close(self) -> None:
        self._db.close()

    async def read(self, run: RunId, after: int = 0, most: int | None = None) -> Sequence[Record]:
        rows = self._query(
            "select e.seq, e.event from runs r join events e on e.run = r.id"
            " where r.run = ? and e.seq > ? order by e.seq limit ?",
            (run, after, -1 if most is None else most),
        )
        return [Record(run, seq, self._event(run, seq, event)) for seq, event in rows]

    async def written(self, after: int, most: int) -> Sequence[PositionedRecord]:
        rows = self._query(
            "select e.pos, r.run, e.seq, e.event from events e join runs r on r.id = e.run"
            " where e.pos > ? order by e.pos limit ?",
            (after, most),
        )
        return [
            PositionedRecord(pos, Record(RunId(run), seq, self._event(RunId(run), seq, event)))
            for pos, run, seq, event in rows
        ]

    async def last_place(self) -> int:
        return self._last_pos()

    async def heads(self, *, open_only: bool = False, since: int = 0) -> Sequence[Head]:
        rows = self._query(
            "select run, kind, parent, (select max(seq) from events e where e.run = r.id),"
            " opened_at, closed from runs r where run not in (?, ?) and closed <= ?"
            " and (? or id in (select run from events where pos > ?)) order by id",
            (*STREAMS, not open_only, not since, since),
        )
        return [
            Head(RunId(run), kind, parent, seq, _instant(run, at), bool(closed))
            for run, kind, parent, seq, at, closed in rows
        ]

    def is_full(self) -> bool:
        """Whether the disk has no space left for the next events."""
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize < MIN_FREE_BYTES

    def holders(self) -> dict[RunId, Holder | None]:
        return self._claims.holders()

    def _last_pos(self) -> int:
        ((pos,),) = self._query("select coalesce(max(pos), 0) from events", ())
        return int(pos)

    def _query(self, sql: str, values: Sequence[object]) -> list[tuple]:  # type: ignore[type-arg]
        try:
            return self._db.execute(sql, values).fetchall()
        except DAMAGE as error:
            raise broken_store(error) from error

    def _event(self, run: RunId, seq: int, event: bytes) -> Event:
        try:
            return self._decode(event)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise unreadable(run, seq, error) from error


def _instant(run: str, at: str) -> datetime:
    try:
        return datetime.fromisoformat(at)
    except ValueError as error:
        raise StoreBrokenError(f"the time of {run} can't be read: {error}") from error
