"""A journal in one SQLite file that several processes may share."""

import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.lowlevel
import msgspec

from allstop.adapters.journals.sqlite_file import DAMAGE, broken_store
from allstop.adapters.journals.sqlite_reader import SqliteRecords
from allstop.adapters.journals.sqlite_schema import MIGRATIONS
from allstop.adapters.journals.stop_file import UNNAMED
from allstop.adapters.journals.transaction import EncodedEvent, RunNumbers, Transaction
from allstop.adapters.journals.wake_sockets import WakeSocket, WakeSockets
from allstop.core.commands import Allstop
from allstop.core.events import Commanded, Event
from allstop.core.helm import Helm, Hold, steer
from allstop.core.ids import HELM, RunId, WriteId
from allstop.ports import (
    Alarm,
    Clock,
    Cursor,
    Entry,
    Listener,
    StoreBrokenError,
    StoreBusyError,
    StoreFullError,
    no_alarm,
)

RESERVE_BYTES = 256 * 1024
"""The size of a reserve file, which is deleted so that a stop can be written on a full disk."""

RETRY_S = 1.0

WAIT_EVERY_COMMITS = 8
"""A writer without company waits for others only at every eighth commit."""

BUSY_S = 0.02
BUSY_TRIES = 125  # each try also blocks that long inside SQLite
"""After about five seconds in which another process holds the lock, a write fails."""


_encode = msgspec.json.Encoder().encode


class _Job(msgspec.Struct, eq=False):
    """One append that waits for its commit."""

    lines: list[EncodedEvent]
    expect: Cursor | None = None
    write: WriteId | None = None
    error: Exception | None = None
    is_done: bool = False

    def is_for_helm(self) -> bool:
        """Whether it writes to the helm. An empty append only lets the STOP file be recorded."""
        return not self.lines or any(run == HELM for run, _, _ in self.lines)


def _lines(entries: Sequence[Entry]) -> list[EncodedEvent]:
    """Encode the entries as bytearray: for bytes, sqlite3 searches an adapter every time."""
    return [(entry.run, entry.event, bytearray(_encode(entry.event))) for entry in entries]


class _PendingStop(NamedTuple):
    """A stop for which agents were killed, and which isn't on the helm yet."""

    stop: Event
    stops: int  # how many were on the helm before


class SqliteJournal(SqliteRecords):
    """One connection, used on the event loop's thread: a write costs less than a switch of threads.

    The first writer commits for all writers that wait with it.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        migrations: Sequence[str] = MIGRATIONS,
        clean: Callable[[Event], Event] | None = None,
    ) -> None:
        super().__init__(folder, clock, migrations)
        self._clock = clock
        self._clean = clean  # removes secrets, which must never be on disk
        self._reserve = folder / "reserve"
        self._cursor = self._db.cursor()  # reused: creating one costs as much as a statement
        self._numbers = RunNumbers(self._cursor)
        self._wake_sockets = WakeSockets(folder / "bells")
        self._queue: list[_Job] = []
        # a cancelled writer may not have noticed its cancellation yet
        self._has_delayed_cancel = False
        self._is_committing = False  # a writer is about to commit for all
        self._single_commits = 0  # commits in a row with only one writer
        self._committed: anyio.Event | None = None  # set after that commit
        self._listeners: list[Listener] = []
        self._alarms: list[Alarm] = []
        self._announced_pos = self._last_pos()  # the listeners know everything up to here
        self._helm = Helm()
        self._helm_seq = 0
        self._pending_stop: _PendingStop | None = None
        self._has_reserve = False
        self._keep_reserve()

    def close(self) -> None:
        super().close()
        self._wake_sockets.close()

    async def append(
        self, *entries: Entry, expect: Cursor | None = None, write: WriteId | None = None
    ) -> None:
        # a checkpoint costs a twentieth of a turn; `expect` protects the other writes
        if expect is None or self._has_delayed_cancel:
            await anyio.lowlevel.checkpoint_if_cancelled()
        if self._clean is not None:
            entries = _cleaned(entries, self._clean)
        job = _Job(_lines(entries), expect, write)  # an encoding error concerns only this append
        self._queue.append(job)
        while not job.is_done:
            if not self._is_committing:
                await self._commit_queue()
            else:
                committed = self._committed = self._committed or anyio.Event()
                try:
                    await committed.wait()
                except anyio.get_cancelled_exc_class():
                    await self._delay_cancel(committed.wait)
        if job.error is not None:
            raise job.error

    async def _commit_queue(self) -> None:
        """Commit all queued jobs, and wake their writers."""
        self._is_committing = True
        if self._single_commits % WAIT_EVERY_COMMITS == 0:
            try:
                await anyio.lowlevel.checkpoint()  # lets other writers join
            except anyio.get_cancelled_exc_class():
                await self._delay_cancel(anyio.lowlevel.checkpoint)
        batch, self._queue = self._queue, []
        self._single_commits = self._single_commits + 1 if len(batch) == 1 else 0
        left = list(batch)
        try:
            if not self._try_commit(left):
                await self._commit_later(left)
        except DAMAGE as error:
            _fail(batch, broken_store(error))
        except StoreBrokenError as error:
            _fail(batch, error)
        finally:
            for job in batch:
                job.is_done = True
            self._is_committing = False
            committed, self._committed = self._committed, None
            if committed is not None:
                committed.set()

    async def _delay_cancel(self, wait: Callable[[], Awaitable[None]]) -> None:
        """Delay a cancellation until the write is done, because it can't be undone.

        The caller continues with the written events, and is cancelled at its next checkpoint.
        """
        self._has_delayed_cancel = True
        with anyio.CancelScope(shield=True):
            await wait()

    @contextmanager
    def listen(
        self, listener: Listener, alarm: Alarm = no_alarm, cut_off: Alarm = no_alarm
    ) -> Iterator[None]:
        self._listeners.append(listener)
        self._alarms.append(alarm)
        try:
            yield
        finally:
            self._listeners.remove(listener)
            self._alarms.remove(alarm)

    async def watch_writes(self) -> None:
        with self._wake_sockets.open_own() as own_socket:
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch_stop_file)
                self._announce_others()
                await self._watch_wake_socket(own_socket)

    @asynccontextmanager
    async def claim(self, run: RunId) -> AsyncIterator[None]:
        with self._claims.claim(run):
            yield

    # --- writing ---

    async def _commit_later(self, batch: list[_Job]) -> None:
        """Retry while another process holds the lock; the event loop continues meanwhile."""
        for _ in range(BUSY_TRIES):
            with anyio.CancelScope(shield=True):
                await anyio.sleep(BUSY_S)
            if self._try_commit(batch):
                return
        hint = "it may hang: `allstop stop` ends it"
        _fail(batch, StoreBusyError("another process keeps the journal locked", hint))

    def _try_commit(self, batch: list[_Job]) -> bool:
        """Write the jobs that are not stale in one transaction; the others get an error.

        False if another process is writing; the batch then holds the jobs that must be retried.
        """
        try:
            self._cursor.execute("begin immediate")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                return False
            raise
        try:
            transaction = self._numbers.begin()
            self._apply_stop_file(transaction)
            for job in batch:
                self._write_unless_stale(transaction, job)
            transaction.write()
            self._cursor.execute("commit")
            self._pending_stop = None
        except Exception as error:
            self._roll_back()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_FULL:
                raise
            return self._commit_on_full_disk(batch)
        if transaction.first == self._announced_pos + 1:
            self._announced_pos = transaction.last
        self._announce(transaction.written)
        if not self._has_reserve:
            self._keep_reserve()
        self._wake_sockets.wake_others()
        return True

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            self._db.execute("rollback")
        self._numbers.forget()
        self._helm, self._helm_seq = Helm(), 0  # it was read in that transaction

    def _commit_on_full_disk(self, batch: list[_Job]) -> bool:
        """On a full disk, write only commands to the helm, after deleting the reserve file.

        False if another process is writing and the batch must be retried.
        """
        full = StoreFullError("the disk is full", f"free some space for {self.folder}")
        commands = [job for job in batch if job.is_for_helm()]
        if not commands or not self._reserve.exists():
            _fail(batch, full)
            return True
        self._reserve.unlink()
        self._has_reserve = False
        with suppress(sqlite3.Error):
            self._db.execute("pragma wal_checkpoint(passive)")
        _fail([job for job in batch if job not in commands], full)
        batch[:] = commands
        return self._try_commit(batch)

    def _write_unless_stale(self, transaction: Transaction, job: _Job) -> None:
        if job.write is not None and self._is_written(job.write):
            return
        job.error = transaction.refusal(job.expect)
        if job.error is None:
            transaction.add(job.lines)
            if job.write is not None:
                self._db.execute("insert into writes values (?)", (job.write,))

    def _is_written(self, write: WriteId) -> bool:
        sql = "select 1 from writes where id = ?"
        return self._db.execute(sql, (write,)).fetchone() is not None

    # --- the STOP file ---

    def _apply_stop_file(self, transaction: Transaction) -> None:
        """Record a STOP file as a stop on the helm, before any other event is written."""
        if self._pending_stop is None and not self.stop_file.exists():
            return
        self._update_pending_stop()
        if self._pending_stop is not None:
            transaction.add(_lines([Entry(HELM, self._pending_stop.stop)]))
            self._call_alarms()

    def _update_pending_stop(self) -> None:
        """Decide whether a stop must be written.

        Once alarms were called, the stop is written even if the file is removed, unless another
        process has written it.
        """
        for seq, event in self._db.execute(
            "select e.seq, e.event from runs r join events e on e.run = r.id"
            " where r.run = ? and e.seq > ? order by e.seq",
            (HELM, self._helm_seq),
        ).fetchall():
            self._helm, self._helm_seq = steer(self._helm, self._event(HELM, seq, event)), seq
        if self._pending_stop is None:
            is_new = self._helm.hold is not Hold.STOPPED
            self._pending_stop = _PendingStop(self._stop(), self._helm.stops) if is_new else None
        elif self._helm.stops > self._pending_stop.stops:
            self._pending_stop = None

    def _call_alarms(self) -> None:
        """Call the alarms before the disk has stored the stop, which may take long."""
        for alarm in self._alarms:
            alarm()

    def _stop(self) -> Event:
        """Return the stop with the text in the file, if that can be cleaned of secrets."""
        now = self._clock.now()
        try:
            stop = Commanded(at=now, command=Allstop(), by=self.stop_file.author())
            return self._clean(stop) if self._clean else stop
        except Exception:  # noqa: BLE001 - no error may prevent a stop
            return Commanded(at=now, command=Allstop(), by=UNNAMED)

    async def _watch_stop_file(self) -> None:
        while True:
            if self._pending_stop is None:
                await self.stop_file.wait_created()
            with suppress(*DAMAGE, StoreBrokenError):  # writers get this error
                self._update_pending_stop()
            self._call_alarms()
            try:
                await self.append()
            except (StoreBusyError, StoreFullError):
                await anyio.sleep(RETRY_S)
                continue
            await self.stop_file.wait_removed()

    # --- listening ---

    def _announce(self, written: dict[RunId, int]) -> None:
        for run, seq in written.items():
            for listener in self._listeners:
                listener(run, seq)

    async def _watch_wake_socket(self, own_socket: WakeSocket) -> None:
        while True:
            await own_socket.wait()
            self._announce_others()

    def _announce_others(self) -> None:
        """Tell the listeners of all writes since the last call."""
        rows = self._query(
            # `not indexed`: with the index, SQLite would read all events to get ordered groups
            "select r.run, max(e.seq), max(e.pos) from events e not indexed"
            " join runs r on r.id = e.run where e.pos > ? group by e.run",
            (self._announced_pos,),
        )
        self._announced_pos = max([self._announced_pos, *(pos for _, _, pos in rows)])
        self._announce({RunId(run): seq for run, seq, _ in rows})

    def _keep_reserve(self) -> None:
        """Write the reserve file if there is plenty of space; otherwise after a later commit."""
        with suppress(OSError):
            disk = os.statvfs(self.folder)
            has_reserve = self._reserve.exists() and self._reserve.stat().st_size == RESERVE_BYTES
            if not has_reserve and disk.f_bavail * disk.f_frsize > 4 * RESERVE_BYTES:
                self._reserve.write_bytes(os.urandom(RESERVE_BYTES))
                has_reserve = True
            self._has_reserve = has_reserve


def _cleaned(entries: Sequence[Entry], clean: Callable[[Event], Event]) -> tuple[Entry, ...]:
    """Clean all events but those of the helm: no error may prevent a stop."""
    return tuple([e if e.run == HELM else Entry(e.run, clean(e.event)) for e in entries])


def _fail(batch: list[_Job], error: Exception) -> None:
    for job in batch:
        job.error = error
