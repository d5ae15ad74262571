"""Opens the SQLite file of a journal, and explains errors of a file that can't be read."""

import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from allstop.adapters.journals.sqlite_schema import migrate, version_of
from allstop.ports import StoreBrokenError

DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""SQLite's own error text may be damaged too."""


DISK_ERRORS = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
"""Errors of the disk or of permissions: the file itself may be intact."""


FULL_ERRORS = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})


def connect(path: Path, migrations: Sequence[str]) -> sqlite3.Connection:
    """Open the file, even on a full disk, where SQLite can't create its shared-memory file."""
    try:
        try:
            return _open(path, migrations)
        except sqlite3.Error as error:
            if _code(error) not in FULL_ERRORS:
                raise
            return _open(path, migrations, "pragma locking_mode = exclusive")
    except DAMAGE as error:
        raise broken_store(error) from error


def _open(path: Path, migrations: Sequence[str], *first: str) -> sqlite3.Connection:
    with ExitStack() as stack:
        db = sqlite3.connect(path, timeout=5.0, isolation_level=None, cached_statements=64)
        stack.callback(db.close)
        for statement in first:
            db.execute(statement)
        version_of(db)  # before the first change, because the file may belong to another program
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        migrate(db, migrations)
        db.execute("pragma busy_timeout = 20")
        db.execute("select max(pos) from events")
        stack.pop_all()
    return db


def broken_store(error: Exception) -> StoreBrokenError:
    if _code(error) in DISK_ERRORS:
        hint = "check disk space and permissions of .allstop/ with `allstop doctor`"
        return StoreBrokenError(
            f"the journal can't be read: {error}", hint, code="store_unreadable"
        )
    hint = "restore .allstop/ from a backup, or move it away"
    return StoreBrokenError(f"the journal can't be read: {error}", hint)


def _code(error: Exception) -> int:
    """Return the primary error code."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
