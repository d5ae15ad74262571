"""What one transaction of the SQLite journal writes."""

from __future__ import annotations

import sqlite3

from allstop.core.events import Closed, Event, Opened
from allstop.core.ids import HELM, RunId
from allstop.ports import Cursor, StaleError


class _Row:
    """A run as one transaction knows it."""

    __slots__ = ("id", "seq", "seq_before")

    def __init__(self, id_: int, seq: int) -> None:
        self.id = id_
        self.seq = self.seq_before = seq


class Page:
    """What one transaction writes; how far each run is, is read once."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._rows: dict[RunId, _Row] = {}

    def row(self, run: RunId) -> _Row:
        row = self._rows.get(run)
        if row is None:
            # the last number is looked up in the index: keeping it in a row of its own would
            # cost every commit a page
            sql = "select id, (select max(seq) from events where run = id) from runs where run = ?"
            row = self._rows[run] = _Row(*(self._db.execute(sql, (run,)).fetchone() or (0, 0)))
        return row

    def refusal(self, expect: Cursor | None) -> StaleError | None:
        """Why somebody who expects this may not write."""
        if expect is None or expect[1:] == (self.row(expect.run).seq, self.row(HELM).seq):
            return None
        return StaleError(expect.run)

    def add(self, run: RunId, event: Event, encoded: bytes) -> int:
        row = self.row(run)
        row.id = row.id or self._add_run(run, event)
        row.seq += 1
        cursor = self._db.execute(
            "insert into events (run, seq, event) values (?, ?, ?)", (row.id, row.seq, encoded)
        )
        if isinstance(event, Closed):
            self._db.execute("update runs set closed = 1 where id = ?", (row.id,))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def written(self) -> dict[RunId, int]:
        return {run: row.seq for run, row in self._rows.items() if row.seq > row.seq_before}

    def _add_run(self, run: RunId, event: Event) -> int:
        kind, parent = (event.kind, event.parent) if isinstance(event, Opened) else ("", None)
        cursor = self._db.execute(
            "insert into runs (run, kind, parent, opened_at) values (?, ?, ?, ?)",
            (run, kind, parent, event.at.isoformat()),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid
