"""Opening the file of a journal, and what is said of one that can't be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from allstop.adapters.journals.sqlite_schema import migrate, version_of
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


NO_ROOM = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})


def connect(path: Path, migrations: Sequence[str]) -> sqlite3.Connection:
    """Also on a full disk, where SQLite can't make the file in which processes share its index."""
    try:
        try:
            return _opened(path, migrations)
        except sqlite3.Error as error:
            if _code(error) not in NO_ROOM:
                raise
            return _opened(path, migrations, "pragma locking_mode = exclusive")
    except DAMAGE as error:
        raise broken(error) from error


def _opened(path: Path, migrations: Sequence[str], *first: str) -> sqlite3.Connection:
    with ExitStack() as stack:
        db = sqlite3.connect(path, timeout=5.0, isolation_level=None, cached_statements=64)
        stack.callback(db.close)
        for statement in first:
            db.execute(statement)
        version_of(db)  # before anything is changed in a file that may not be ours
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        migrate(db, migrations)
        db.execute("pragma busy_timeout = 20")
        db.execute("select max(pos) from events")
        stack.pop_all()
    return db


def broken(error: Exception) -> StoreBrokenError:
    hint = "restore .allstop/ from a backup, or move it away"
    if _code(error) in OUTSIDE:
        hint = "is the disk full, or .allstop/ not writable for you? `allstop doctor` looks"
    return StoreBrokenError(f"the store can't be read: {error}", hint)


def _code(error: Exception) -> int:
    """Of the family of errors."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
