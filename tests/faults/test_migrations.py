"""A journal of an older version is migrated; no migration runs twice."""

import json
import sqlite3

import pytest

from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.adapters.journals.sqlite_schema import APPLICATION_ID, MIGRATIONS, migrate
from allstop.ports import Entry
from faults.damaged_stores import CLOCK, read_all, said, write_some
from faults.writer_program import MORE


def connect(folder):
    folder.mkdir(exist_ok=True)
    return sqlite3.connect(folder / "journal.db", isolation_level=None)


def version(db):
    ((number,),) = db.execute("pragma user_version")
    return number


async def test_a_store_of_one_version_is_brought_to_the_next_and_keeps_what_it_has(folder):
    await write_some(folder)
    before = await read_all(folder)
    journal = SqliteJournal(folder, CLOCK, MORE)
    await journal.append(Entry("a", said("later")))
    found = {
        head.run: [r.event for r in await journal.read(head.run)] for head in await journal.heads()
    }
    journal.close()

    assert found == {**before, "a": [*before["a"], said("later")]}
    db = connect(folder)
    assert version(db) == len(MORE)
    db.close()


def test_migrating_twice_is_harmless(folder):
    db = connect(folder)
    for _ in range(3):
        migrate(db, MORE)

    assert version(db) == len(MORE)
    assert db.execute("pragma application_id").fetchall() == [(APPLICATION_ID,)]
    db.close()


def test_each_version_comes_after_the_one_before_it(folder):
    db = connect(folder)
    for number in range(1, 6):
        steps = [*MIGRATIONS, *(f"create table t{n} (x) ;" for n in range(number))]
        migrate(db, steps)
        assert version(db) == len(steps)
    db.close()


def test_a_migration_that_fails_half_way_leaves_the_store_as_it_was(folder):
    db = connect(folder)
    migrate(db)
    broken = (*MIGRATIONS, "create table good (x); create table runs (x);")

    with pytest.raises(sqlite3.OperationalError, match="runs already exists"):
        migrate(db, broken)
    assert version(db) == len(MIGRATIONS)
    assert db.execute("select count(*) from sqlite_master where name = 'good'").fetchall() == [(0,)]
    db.execute("begin immediate")
    db.execute("rollback")
    db.close()


async def test_processes_that_migrate_at_the_same_time_do_it_once(program, folder):
    await write_some(folder, appends=3)
    processes = [program("writer_program.py", "open", folder) for _ in range(4)]
    reports = [json.loads(process.communicate(timeout=60)[0]) for process in processes]

    assert reports == [{"version": len(MORE), "notes": 0}] * 4


async def test_processes_that_make_a_store_at_the_same_time_make_one(program, folder):
    processes = [program("writer_program.py", "open", folder) for _ in range(4)]
    reports = [json.loads(process.communicate(timeout=60)[0]) for process in processes]

    assert reports == [{"version": len(MORE), "notes": 0}] * 4
