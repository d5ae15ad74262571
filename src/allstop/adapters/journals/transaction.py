"""One transaction of the SQLite journal: numbers the events, checks cursors and inserts rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TypeAlias

from allstop.core.events import Closed, Event, Opened
from allstop.core.ids import HELM, RunId
from allstop.ports import Cursor, StaleError

EncodedEvent: TypeAlias = tuple[RunId, Event, bytearray]
"""A run, an event, and its encoding."""

MAX_CACHED_RUNS = 10_000
"""How many runs are cached."""


class _Row:
    """The row id and the last sequence number of a run."""

    __slots__ = ("id", "seq")

    def __init__(self, id_: int, seq: int) -> None:
        self.id = id_
        self.seq = seq


class _Rows(dict[RunId, _Row]):
    """A cache of rows; missing ones are read from the database."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def __missing__(self, run: RunId) -> _Row:
        # the last number is read from the index: a column for it would cost every commit a page
        sql = "select id, (select max(seq) from events where run = id) from runs where run = ?"
        row = self[run] = _Row(*(self._cursor.execute(sql, (run,)).fetchone() or (0, 0)))
        return row


class RunNumbers:
    """The last number of each run, cached until another process writes."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self.cursor = cursor
        self.pos = 0  # the position of the last event
        self.foreign_pos = 0  # the last position that another process may have written
        self.rows = _Rows(cursor)
        self._version: int | None = None

    def begin(self) -> Transaction:
        """Begin collecting rows, inside a transaction, in which no other process can write."""
        (version,) = self.cursor.execute("pragma data_version").fetchone()
        if version != self._version or len(self.rows) > MAX_CACHED_RUNS:
            self.rows.clear()
            self._version = version
            newest = self.cursor.execute("select coalesce(max(pos), 0) from events")
            (self.pos,) = newest.fetchone()
            self.foreign_pos = self.pos
        return Transaction(self)

    def forget(self) -> None:
        """Drop the cache after a rollback."""
        self._version = None


class Transaction:
    """The rows of one transaction, which are inserted at its end."""

    def __init__(self, numbers: RunNumbers) -> None:
        self._numbers = numbers
        self._cursor = numbers.cursor
        self._events: list[tuple[int, int, int, bytearray]] = []
        self.first = numbers.pos + 1  # the position of its first event
        self.written: dict[RunId, int] = {}  # the last number of each run

    def refusal(self, expect: Cursor | None) -> StaleError | None:
        """Return the error for a writer with a stale cursor; None if it may write."""
        rows = self._numbers.rows
        if expect is None:
            return None
        if expect.seq != rows[expect.run].seq or expect.helm != rows[HELM].seq:
            return StaleError(expect.run)
        if expect.place is not None and expect.place < self._numbers.foreign_pos:
            return StaleError(expect.run)
        return None

    def add(self, lines: Iterable[EncodedEvent]) -> None:
        numbers = self._numbers
        rows, pos = numbers.rows, numbers.pos
        for run, event, encoded in lines:
            row = rows[run]
            if not row.id:
                row.id = self._add_run(run, event)
            row.seq = self.written[run] = seq = row.seq + 1
            pos += 1
            self._events.append((pos, row.id, seq, encoded))
            if isinstance(event, Closed):
                self._cursor.execute("update runs set closed = 1 where id = ?", (row.id,))
        numbers.pos = pos

    @property
    def last(self) -> int:
        return self.first + len(self._events) - 1

    def write(self) -> None:
        self._cursor.executemany("insert into events values (?, ?, ?, ?)", self._events)

    def _add_run(self, run: RunId, event: Event) -> int:
        kind, parent = (event.kind, event.parent) if isinstance(event, Opened) else ("", None)
        cursor = self._cursor.execute(
            "insert into runs (run, kind, parent, opened_at) values (?, ?, ?, ?)",
            (run, kind, parent, event.at.isoformat()),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid
