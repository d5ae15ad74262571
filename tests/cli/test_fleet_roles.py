"""The roles of a fleet's database: each can do its work, and nothing else."""

import json
import select
from types import SimpleNamespace

import anyio
import pytest

from allstop.adapters.dispatch.procrastinate_queue import ProcrastinateQueue, prepare
from allstop.adapters.journals.postgres_connection import Link
from allstop.core.ids import RunId
from allstop.ports import Handout, StoreBrokenError
from support.cases import for_each
from support.person import wait_for
from support.postgres_fixtures import database, postgres

__all__ = ["database", "postgres"]

TURN = '[[turn]]\nsteps = [{ run = "echo x > new.txt" }, { signal = "COMPLETE" }]\n'

REFUSED_TO_WORKERS = [
    "delete from allstop.events",
    "update allstop.events set event = ''",
    "insert into allstop.events values (99, 1, 99, '')",
    "truncate allstop.events",
    "update allstop.runs set closed = true",
    "insert into allstop.claims select 'a', id, 1, now() from allstop.processes",
    "delete from allstop.claims",
    "update allstop.processes set host = 'other'",
    "delete from allstop.writes",
    "update allstop.store set repository = 'other'",
    "update allstop.turns set cost = 0",
    "drop table allstop.events",
    "drop schema allstop cascade",
    "alter function allstop.prune() security invoker",
    "create or replace function allstop.prune() returns void language sql as ''",
    "create table allstop.more (a int)",
    "create table public.more (a int)",
    "create temporary table more (a int)",
    "create schema more",
    "create role more",
    "set role {prefix}_owner",
    "select pg_read_file('/etc/passwd')",
]

REFUSED_TO_READERS = [
    *REFUSED_TO_WORKERS,
    "select allstop.append(gen_random_uuid(), '[]', '{{}}')",
    "select allstop.claim(gen_random_uuid(), 'a', null)",
    "select allstop.prune()",
    "select allstop.leave(gen_random_uuid())",
    "select allstop.drain(gen_random_uuid(), 'me')",
    "select allstop.name_repository('other')",
    "set role {prefix}_worker",
]


@pytest.fixture
def fleet(person, postgres, database):
    """The printed SQL was run, and each role has a login."""
    prefix = f"fleet_{database}"
    sql = person.allstop("fleet", "init", "--print-sql", "--prefix", prefix)
    logins = {"owner": f"{prefix}_owner", "worker": f"{prefix}-build-1", "reader": f"{prefix}-eye"}
    postgres.execute(sql, database)
    for role in ("worker", "reader"):
        postgres.execute(f'create role "{logins[role]}" login in role {prefix}_{role}', database)

    def use(role):
        person.variables["ALLSTOP_STORE_URL"] = postgres.url(database, user=logins[role])

    yield SimpleNamespace(sql=sql, prefix=prefix, logins=logins, use=use, database=database)
    person.close()
    postgres.drop_database(database)
    for login in (logins["worker"], logins["reader"], *_roles(prefix)):
        postgres.execute(f'drop role "{login}"')


def _roles(prefix):
    return (f"{prefix}_owner", f"{prefix}_worker", f"{prefix}_reader")


def _run_on_queue(url):
    link = Link(url, prepare)
    try:
        link.run(lambda connection: None)
    finally:
        link.close()


def _error(person, *arguments):
    done = person.try_allstop(*arguments, "--json")
    assert done.returncode != 0
    return json.loads(done.stdout)["error"]


def test_z10_each_role_can_do_its_work(person, fleet, postgres):
    fleet.use("worker")
    assert _error(person, "status")["code"] == "store_needs_init"
    fleet.use("owner")
    assert json.loads(person.allstop("fleet", "init", "--json"))["version"] >= 2

    fleet.use("worker")
    person.script(TURN)
    person.commit()
    person.allstop("add", "Write it", "--id", "T1")
    person.allstop("run")
    assert person.tasks() == {"T1": "done"}
    person.allstop("stop")
    person.allstop("resume", "--json")

    fleet.use("reader")
    assert person.tasks() == {"T1": "done"}
    assert "Write it" in person.allstop("show", "T1")
    assert "T1" in person.allstop("log", "board")
    person.allstop("status")
    person.allstop("usage")
    person.allstop("replay", "board")
    refused = _error(person, "add", "Not mine to add")
    assert refused["code"] == "store_refused"
    assert person.tasks() == {"T1": "done"}


def test_z10_a_worker_takes_runs_from_the_queue(person, fleet, postgres):
    fleet.use("worker")
    url = person.variables["ALLSTOP_STORE_URL"]
    with pytest.raises(StoreBrokenError) as refused:
        _run_on_queue(url)
    assert refused.value.code == "store_needs_init"
    fleet.use("owner")
    person.allstop("fleet", "init")

    link = Link(url, prepare)
    queue = ProcrastinateQueue(link)

    async def hand_out():
        await queue.put([Handout(RunId("board/T1.1"), frozenset({"kind task"}))])
        return await queue.take({"kind task", "label gpu"})

    assert anyio.run(hand_out) == "board/T1.1"
    link.close()


def test_z10_a_reader_follows_what_others_write(person, fleet):
    fleet.use("owner")
    person.allstop("fleet", "init")
    fleet.use("reader")
    watching = person.start("watch", "--json")
    fleet.use("worker")

    def hears():  # what is written before it has begun is not shown
        person.allstop("add", "Another")
        return select.select([watching.stdout], [], [], 0)[0]

    wait_for(hears, "an event of another process")

    assert "board" in watching.stdout.readline()


@pytest.mark.parametrize("role", ["worker", "reader"])
def test_z10_a_role_can_do_nothing_else(person, fleet, postgres, role):
    fleet.use("owner")
    person.allstop("fleet", "init")
    fleet.use("worker")
    person.allstop("add", "Write it")
    login = fleet.logins[role]

    def refusal(statement):
        with pytest.raises(RuntimeError) as refused:
            postgres.execute(statement.format(prefix=fleet.prefix), fleet.database, user=login)
        return str(refused.value)

    refused = REFUSED_TO_WORKERS if role == "worker" else REFUSED_TO_READERS
    others = {each: refusal(each) for each in refused}
    known = ("permission denied", "must be owner", "no schema has been selected")
    assert {each: text for each, text in others.items() if not any(k in text for k in known)} == {}


def test_z10_the_sql_takes_over_a_store_that_is_in_use(person, postgres, database):
    person.variables["ALLSTOP_STORE_URL"] = postgres.url(database)
    person.allstop("add", "Before there were roles", "--id", "T1")
    _run_on_queue(postgres.url(database))
    prefix = f"late_{database}"
    sql = person.allstop("fleet", "init", "--print-sql", "--prefix", prefix)
    try:
        for _ in range(2):  # a second time changes nothing
            postgres.execute(sql, database)
        postgres.execute(f"alter role {prefix}_worker login; alter role {prefix}_reader login")
        person.variables["ALLSTOP_STORE_URL"] = postgres.url(database, user=f"{prefix}_worker")
        person.allstop("add", "After", "--id", "T2")
        person.variables["ALLSTOP_STORE_URL"] = postgres.url(database, user=f"{prefix}_reader")
        assert set(person.tasks()) == {"T1", "T2"}
    finally:
        postgres.drop_database(database)
        for role in _roles(prefix):
            postgres.execute(f"drop role {role}")


@for_each("prefix", lambda: ['a"b', "a'b", "Ä", "", "a b"], ids=repr)
def test_z10_a_prefix_that_is_no_plain_name_is_refused(prefix, tmp_path):
    from support import in_process

    words = ["fleet", "init", "--print-sql", "--prefix", prefix]
    done = in_process.run_here(words, tmp_path, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})

    assert done.returncode == 2
    assert "create role" not in done.stdout
