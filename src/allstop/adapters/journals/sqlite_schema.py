"""The tables of the SQLite journal, and how one version becomes the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from allstop.ports import StoreBrokenError

APPLICATION_ID = 0x616C6C73

_FIRST = """
create table runs (
    id integer primary key,
    run text not null unique,
    kind text not null,
    parent text,
    opened_at text not null,
    closed integer not null default 0
) strict;
create table events (
    pos integer primary key,
    run integer not null references runs (id),
    seq integer not null,
    event blob not null,
    unique (run, seq)
) strict;
create table writes (id text primary key) strict, without rowid;
"""

MIGRATIONS: tuple[str, ...] = (_FIRST,)
"""Each makes the version that is its place in the list, counted from 1; none is ever changed."""


def migrate(db: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the file to the newest version, or refuse one that is newer than this program."""
    version = version_of(db)
    if version > len(migrations):
        raise StoreBrokenError(
            f"the store has version {version}; this program knows versions up to {len(migrations)}",
            "use the newer allstop that wrote it",
        )
    if version == len(migrations):
        return
    db.execute("begin immediate")
    try:
        # another process may have done it while this one waited
        for number in range(version_of(db), len(migrations)):
            _run(db, migrations[number])
            db.execute(f"pragma user_version = {number + 1}")
        db.execute(f"pragma application_id = {APPLICATION_ID}")
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


def version_of(db: sqlite3.Connection) -> int:
    """0 for an empty file; a database that isn't ours is refused."""
    # in one statement: another process may be making the tables at this moment
    ((version, application, tables),) = db.execute(
        "select (select user_version from pragma_user_version),"
        " (select application_id from pragma_application_id),"
        " (select count(*) from sqlite_master)"
    )
    if application != APPLICATION_ID and (version or application or tables):
        raise StoreBrokenError("the file is a database of another program")
    return int(version)


def _run(db: sqlite3.Connection, script: str) -> None:
    # executescript would commit the transaction that is open
    for statement in script.split(";"):
        if statement.strip():
            db.execute(statement)
