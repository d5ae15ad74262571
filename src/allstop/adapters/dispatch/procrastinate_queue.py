"""Hands out runs with Procrastinate: its tables, its functions, and none of its worker loop.

A job only says that a run may be claimed, so it is over as soon as a worker has it. What takes hours
is held by the journal's claim. So a job of a worker that dies needs no heartbeat and no rescue.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Set
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
from anyio.to_thread import run_sync
from procrastinate.connector import BaseAsyncConnector
from procrastinate.exceptions import AlreadyEnqueued, UniqueViolation
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.schema import SchemaManager
from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from allstop.core.ids import RunId
from allstop.ports import Handout, StoreBrokenError

if TYPE_CHECKING:
    from typing import LiteralString

    from psycopg import Connection

T = TypeVar("T")

CHANNEL = "procrastinate_any_queue_v1"
"""Where the database tells that a job was added."""

SCHEMA = "allstop_queue"
TASK = "drive"
_LOCK = 0x616C6A71
_FORGOTTEN_S = 24 * 3600.0
"""After so long without a sign of life, rows of a process are removed. Nothing waits for that."""

_KNOWN_S = 600.0


class Database(Protocol):
    """One connection, which is opened again if it is lost."""

    def run(self, work: Callable[[Connection[Any]], T]) -> T: ...


def prepare(connection: Connection[Any]) -> None:
    """Prepare a new connection; create the tables if there are none.

    Raises StoreBrokenError if this user may not create them.
    """
    connection.execute(f"set search_path = {SCHEMA}".encode())
    if _has_tables(connection):
        return
    try:
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
            if not _has_tables(connection):
                _create_tables(connection)
    except errors.InsufficientPrivilege as error:
        raise StoreBrokenError(
            "the database has no queue of runs yet",
            "run `allstop fleet init` with the address of the role that owns the tables",
            code="store_needs_init",
        ) from error


def _create_tables(connection: Connection[Any]) -> None:
    sql = "select from pg_namespace where nspname = %s"
    if connection.execute(sql, (SCHEMA,)).fetchone() is None:
        connection.execute(f"create schema {SCHEMA}".encode())
    connection.execute(SchemaManager.get_schema().encode())


def _has_tables(connection: Connection[Any]) -> bool:
    sql = "select from pg_tables where schemaname = %s and tablename = 'procrastinate_jobs'"
    return connection.execute(sql, (SCHEMA,)).fetchone() is not None


class ProcrastinateQueue:
    """A queue for each set of needs; its jobs keep the set."""

    def __init__(self, database: Database) -> None:
        self._jobs = JobManager(_Connector(database))
        self._worker: int | None = None
        self._known_until = 0.0
        self._needs: dict[str, frozenset[str]] = {}  # of each known queue

    async def put(self, handouts: Collection[Handout]) -> None:
        for handout in handouts:
            needs = sorted(handout.needs)
            job = Job(
                queue=_queue_name(needs),
                lock=None,
                queueing_lock=handout.run,
                task_name=TASK,
                priority=handout.priority,
                task_kwargs={"run": handout.run, "needs": list(needs)},
            )
            try:
                await self._jobs.defer_job_async(job)
            except AlreadyEnqueued:
                continue

    async def queued(self) -> Set[RunId]:
        jobs = await self._jobs.list_jobs_async(status=Status.TODO.value)
        return {RunId(str(job.task_kwargs["run"])) for job in jobs}

    async def take(self, offers: Set[str]) -> RunId | None:
        worker = await self._own_worker()
        queues = [name for name, needs in (await self._queues()).items() if needs <= offers]
        if not queues:
            return None
        job = await self._jobs.fetch_job(queues, worker)
        if job is None:
            return None
        await self._jobs.finish_job(job, Status.SUCCEEDED, delete_job=True)
        return RunId(str(job.task_kwargs["run"]))

    async def _own_worker(self) -> int:
        """The id under which this process takes jobs; the table is cleaned when it gets one."""
        now = anyio.current_time()
        if self._worker is not None and now < self._known_until:
            return self._worker
        if self._worker is not None:
            await self._jobs.update_heartbeat(self._worker)
        else:
            for job in await self._jobs.get_stalled_jobs(seconds_since_heartbeat=_FORGOTTEN_S):
                await self._jobs.finish_job(job, Status.FAILED, delete_job=True)
            await self._jobs.prune_stalled_workers(_FORGOTTEN_S)
            self._worker = await self._jobs.register_worker()
        self._known_until = now + _KNOWN_S
        return self._worker

    async def _queues(self) -> Mapping[str, frozenset[str]]:
        """The queues that have jobs to take, with their needs."""
        listed = await self._jobs.list_queues_async()
        names = [str(row["name"]) for row in listed if row["todo"]]
        for name in names:
            if name not in self._needs:
                for job in await self._jobs.list_jobs_async(queue=name):
                    needs = job.task_kwargs["needs"]
                    assert isinstance(needs, list), "this program wrote it"
                    self._needs[name] = frozenset(map(str, needs))
        return {name: self._needs[name] for name in names if name in self._needs}


def _queue_name(needs: Collection[str]) -> str:
    """Procrastinate allows 128 characters."""
    return hashlib.sha256("\0".join(needs).encode()).hexdigest()[:32]


class _Connector(BaseAsyncConnector):
    """Runs Procrastinate's queries on our connection, in a thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        await self.execute_query_all_async(query, **arguments)

    async def execute_query_one_async(
        self, query: LiteralString, **arguments: Any
    ) -> dict[str, Any]:
        (row,) = await self.execute_query_all_async(query, **arguments)
        return row

    async def execute_query_all_async(
        self, query: LiteralString, **arguments: Any
    ) -> list[dict[str, Any]]:
        values = {name: _adapted(value) for name, value in arguments.items()}

        def work(connection: Connection[Any]) -> list[dict[str, Any]] | UniqueViolation:
            with connection.cursor(row_factory=dict_row) as cursor:
                try:
                    cursor.execute(query, values)
                except errors.UniqueViolation as error:
                    return UniqueViolation(
                        constraint_name=error.diag.constraint_name, queueing_lock=None
                    )
                return cursor.fetchall() if cursor.description else []

        found = await run_sync(lambda: self._database.run(work))
        if isinstance(found, UniqueViolation):
            raise found
        return found


def _adapted(value: Any) -> Any:
    """The value as psycopg sends it: objects as JSON, also within rows of a list."""
    if isinstance(value, dict):
        return Jsonb(value)
    if isinstance(value, list):
        return [_adapted(each) for each in value]
    if isinstance(value, tuple):
        return tuple(_adapted(each) for each in value)
    return value
