"""The tables of the SQLite journal, and its migrations."""

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
"""Migration N of the list, counted from 1, makes version N. None is ever changed."""


def migrate(db: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Migrate the file to the newest version, or refuse one that is newer than this program.

    Raises StoreBrokenError if the file is newer, or belongs to another program.
    """
    version = version_of(db)
    if version > len(migrations):
        raise StoreBrokenError(
            f"the journal has version {version}; this program knows up to {len(migrations)}",
            "use the newer allstop that wrote it",
            code="store_too_new",
        )
    if version == len(migrations):
        return
    db.execute("begin immediate")
    try:
        # another process may have migrated it while this one waited
        for number in range(version_of(db), len(migrations)):
            _run(db, migrations[number])
            db.execute(f"pragma user_version = {number + 1}")
        db.execute(f"pragma application_id = {APPLICATION_ID}")
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


def version_of(db: sqlite3.Connection) -> int:
    """Return the version, 0 for an empty file.

    Raises StoreBrokenError if the file belongs to another program.
    """
    # in one statement: another process may be creating the tables at this moment
    ((version, application, tables),) = db.execute(
        "select (select user_version from pragma_user_version),"
        " (select application_id from pragma_application_id),"
        " (select count(*) from sqlite_master)"
    )
    if application != APPLICATION_ID and (version or application or tables):
        raise StoreBrokenError("the file is a database of another program", code="store_foreign")
    return int(version)


def _run(db: sqlite3.Connection, script: str) -> None:
    # executescript would commit the open transaction
    for statement in script.split(";"):
        if statement.strip():
            db.execute(statement)
