"""Z8: programs of two versions on one store read each other's records, or refuse clearly."""

import json
import os
import sqlite3
import uuid
from datetime import UTC, datetime

import anyio
import psycopg
import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.heartbeat import LeaseTimes
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.adapters.journals.postgres_schema import MIGRATIONS
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Say
from allstop.core.events import Commanded, Opened, Rested
from allstop.ports import Entry, Holder, StoreBrokenError
from support.person import wait_for
from support.postgres_fixtures import database, postgres
from support.process_fixtures import asyncio_backend

__all__ = ["asyncio_backend", "database", "postgres"]

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPENED = Opened(at=NOW, kind="room", spec={})
SAID = Commanded(at=NOW, command=Say(text="x"))
UNKNOWN_EVENT = b'{"event":"teleported","at":"2026-01-01T00:00:00Z"}'
UNKNOWN_FIELD = b'{"event":"rested","reason":"x","at":"2026-01-01T00:00:00Z","mood":"good"}'
QUICK = LeaseTimes(beat_s=0.1, fence_s=20.0, lease_s=30.0, look_s=0.1)


@pytest.fixture
def opened(tmp_path, postgres, database):
    journals = []

    def journal():
        own = Holder(pid=os.getpid(), host="here", command="test", since=NOW, world="a")
        made = PostgresJournal(
            postgres.url(database), tmp_path, SystemClock(), own=own, times=QUICK
        )
        journals.append(made)
        return made

    yield journal
    for each in journals:
        each.close()


class OldProgram:
    """A program of the first version of the tables: the statements that it sends."""

    def __init__(self, url):
        self.id = str(uuid.uuid4())
        self.connection = psycopg.connect(url, autocommit=True)

    def create_tables(self):
        self.connection.execute(MIGRATIONS[0].encode())
        self.connection.execute("insert into allstop.store (version, oldest) values (1, 1)")

    def register(self):
        self.connection.execute(
            "insert into allstop.processes (id, host, world, pid, started, worker, command, since,"
            " seen_at, lease, about) values (%s, 'old', 'w', 1, '', '', 'old', now(), now(),"
            " make_interval(secs => 30), '{}')"
            " on conflict (id) do update set seen_at = now(), lease = excluded.lease",
            (self.id,),
        )

    def append(self, name, body, **cursor):
        entry = {"run": name, "kind": "room", "parent": None, "at": str(NOW), "closed": False}
        job = {"write": str(uuid.uuid4()), "kept": False, "entries": [entry], **cursor}
        sql = "select allstop.append(%s, %s, %s)"
        jobs = json.dumps([job])
        return self.connection.execute(sql, (self.id, jobs, [body])).fetchone()[0]["verdicts"]

    def close(self):
        self.connection.close()


@pytest.fixture
def old(postgres, database):
    program = OldProgram(postgres.url(database))
    yield program
    program.close()


async def test_z8_an_old_program_goes_on_while_a_new_one_upgrades_the_store(old, opened):
    rested = b'{"event":"rested","reason":"x","at":"2026-01-01T00:00:00Z"}'
    old.create_tables()
    old.register()
    assert old.append(
        "a", b'{"event":"opened","kind":"room","spec":{},"at":"2026-01-01T00:00:00Z"}'
    ) == ["ok"]
    new = opened()
    await new.append(Entry("a", SAID))

    old.register()
    assert old.append("a", rested) == ["ok"]
    assert old.append("a", rested, run="a", seq=3, helm=0) == ["ok"]
    assert old.append("a", rested, run="a", seq=2, helm=0) == ["stale"]
    assert old.append("a", rested, run="a", seq=4, helm=0, place=0) == ["stale"]
    events = [record.event for record in await new.read("a")]
    assert [type(event) for event in events] == [Opened, Commanded, Rested, Rested]


async def test_z8_a_program_works_on_a_newer_store_that_still_takes_it(opened, postgres, database):
    first = opened()
    await first.append(Entry("a", OPENED))
    postgres.execute("update allstop.store set version = 99", database)

    second = opened()
    await second.append(Entry("a", SAID))

    assert len(await first.read("a")) == 2


async def test_z8_a_program_that_became_too_old_is_drained_and_refused(opened, postgres, database):
    running = opened()
    await running.set_about({"role": "worker"})
    postgres.execute("update allstop.store set version = 99, oldest = 99", database)

    def is_drained():
        return running.drained_by == "an upgrade of the store"

    await anyio.to_thread.run_sync(lambda: wait_for(is_drained, "the worker to notice"))
    with pytest.raises(StoreBrokenError) as refused:
        await opened().read("a")
    assert refused.value.code == "store_too_new"
    assert "newer allstop" in refused.value.hint


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_z8_new_fields_are_read_and_new_events_are_refused_with_a_hint(
    store, tmp_path, postgres, database, opened
):
    journal = opened() if store == "postgres" else SqliteJournal(tmp_path / "s", SystemClock())
    await journal.append(Entry("a", OPENED), Entry("a", SAID))
    await journal.append(Entry("b", OPENED), Entry("b", SAID))
    for run, body in (("a", UNKNOWN_FIELD), ("b", UNKNOWN_EVENT)):
        if store == "postgres":
            hexed = body.hex()
            change = f"update allstop.events e set event = '\\x{hexed}' from allstop.runs r"
            postgres.execute(
                f"{change} where r.id = e.run and r.run = '{run}' and e.seq = 2", database
            )
        else:
            with sqlite3.connect(tmp_path / "s" / "journal.db") as db:
                sql = "update events set event = ? where seq = 2 and run ="
                db.execute(f"{sql} (select id from runs where run = ?)", (body, run))
            db.close()

    assert len(await journal.read("a")) == 2
    with pytest.raises(StoreBrokenError) as refused:
        await journal.read("b")
    assert refused.value.code == "event_too_new"
    assert "newer allstop" in refused.value.hint
    journal.close()


async def test_z7_an_upgrade_counts_what_was_used_before(opened, postgres, database):
    with psycopg.connect(postgres.url(database), autocommit=True) as connection:
        for script in MIGRATIONS[:4]:
            connection.execute(script.encode())
        connection.execute(
            "insert into allstop.store (version, oldest) values (4, 1);"
            "insert into allstop.turns (run, move, began_at, is_open, turns, tokens, cost) values"
            " ('board/t1', 1, now(), false, 1, 100, 5), ('board/t1', 2, now(), true, 1, 0, 0),"
            " ('board/t2/x', 1, now(), false, 1, 30, 2), ('talk', 1, now(), false, 1, 7, 7)"
        )

    await opened().append(Entry("a", OPENED))

    used = postgres.execute("select * from allstop.used_below order by run", database)
    assert used.split() == ["board|3|130|7", "board/t2|1|30|2"]
