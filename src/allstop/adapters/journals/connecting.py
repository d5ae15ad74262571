"""Opening the file of a journal, and what is said of one that can't be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from allstop.adapters.journals.schema import migrate, version_of
from allstop.ports import StoreBrokenError

DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""SQLite's own words may be damaged too."""


OUTSIDE = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
"""The file may be whole: it is what it lies on that fails."""


def connect(path: Path, migrations: Sequence[str]) -> sqlite3.Connection:
    with ExitStack() as stack:
        try:
            db = sqlite3.connect(path, timeout=5.0, isolation_level=None, cached_statements=64)
            stack.callback(db.close)
            version_of(db)  # before anything is changed in a file that may not be ours
            db.execute("pragma journal_mode = wal")
            db.execute("pragma synchronous = full")
            migrate(db, migrations)
            db.execute("pragma busy_timeout = 20")
            db.execute("select max(pos) from events")
        except DAMAGE as error:
            raise broken(error) from error
        stack.pop_all()
    return db


def broken(error: Exception) -> StoreBrokenError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    hint = "restore .allstop/ from a backup, or move it away"
    if code in OUTSIDE:
        hint = "is the disk full, or .allstop/ not writable for you? `allstop doctor` looks"
    return StoreBrokenError(f"the store can't be read: {error}", hint)
