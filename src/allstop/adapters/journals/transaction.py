"""What one transaction of the SQLite journal writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TypeAlias

from allstop.core.events import Closed, Event, Opened
from allstop.core.ids import HELM, RunId
from allstop.ports import Cursor, StaleError

Line: TypeAlias = tuple[RunId, Event, bytearray]
"""An event of a run, and how it is written."""

REMEMBERED = 10_000
"""How many runs are known by heart."""


class _Row:
    """How far a run is."""

    __slots__ = ("id", "seq")

    def __init__(self, id_: int, seq: int) -> None:
        self.id = id_
        self.seq = seq


class _Rows(dict[RunId, _Row]):
    """Rows that are known by heart; others are looked up."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def __missing__(self, run: RunId) -> _Row:
        # the last number is looked up in the index: keeping it in a row of its own would
        # cost every commit a page
        sql = "select id, (select max(seq) from events where run = id) from runs where run = ?"
        row = self[run] = _Row(*(self._cursor.execute(sql, (run,)).fetchone() or (0, 0)))
        return row


class Ledger:
    """How far each run is: what this process wrote itself it knows, unless another wrote since."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self.cursor = cursor
        self.pos = 0  # of the last event
        self.others = 0  # … that another process may have written
        self.rows = _Rows(cursor)
        self._version: int | None = None

    def page(self) -> Page:
        """A new page, inside a transaction: nobody else writes until it is over."""
        (version,) = self.cursor.execute("pragma data_version").fetchone()
        if version != self._version or len(self.rows) > REMEMBERED:
            self.rows.clear()
            self._version = version
            newest = self.cursor.execute("select coalesce(max(pos), 0) from events")
            (self.pos,) = newest.fetchone()
            self.others = self.pos
        return Page(self)

    def forget(self) -> None:
        """What was written is undone."""
        self._version = None


class Page:
    """What one transaction writes, all at its end."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._cursor = ledger.cursor
        self._events: list[tuple[int, int, int, bytearray]] = []
        self.first = ledger.pos + 1  # the place among all events at which it begins
        self.written: dict[RunId, int] = {}  # up to which number, of whom

    def refusal(self, expect: Cursor | None) -> StaleError | None:
        """Why somebody who expects this may not write."""
        rows = self._ledger.rows
        if expect is None:
            return None
        if expect.seq != rows[expect.run].seq or expect.helm != rows[HELM].seq:
            return StaleError(expect.run)
        if expect.place is not None and expect.place < self._ledger.others:
            return StaleError(expect.run)
        return None

    def add(self, lines: Iterable[Line]) -> None:
        ledger = self._ledger
        rows, pos = ledger.rows, ledger.pos
        for run, event, encoded in lines:
            row = rows[run]
            if not row.id:
                row.id = self._add_run(run, event)
            row.seq = self.written[run] = seq = row.seq + 1
            pos += 1
            self._events.append((pos, row.id, seq, encoded))
            if isinstance(event, Closed):
                self._cursor.execute("update runs set closed = 1 where id = ?", (row.id,))
        ledger.pos = pos

    @property
    def last(self) -> int:
        """The place among all events at which it ends."""
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
