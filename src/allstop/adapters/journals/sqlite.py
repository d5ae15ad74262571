"""A journal in one SQLite file that several processes may share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.lowlevel
import msgspec

from allstop.adapters.journals.bells import Bell, Bells
from allstop.adapters.journals.sqlite_file import DAMAGE, broken
from allstop.adapters.journals.sqlite_reader import SqliteRecords
from allstop.adapters.journals.sqlite_schema import MIGRATIONS
from allstop.adapters.journals.stop_file import NOBODY
from allstop.adapters.journals.transaction import Ledger, Line, Page
from allstop.core.commands import Allstop
from allstop.core.events import Commanded, Event
from allstop.core.helm import Helm, Hold, steer
from allstop.core.ids import HELM, RunId, WriteId
from allstop.ports import (
    Alarm,
    Clock,
    Cursor,
    Ear,
    Entry,
    StoreBrokenError,
    StoreBusyError,
    StoreFullError,
    quiet,
)

RESERVE_BYTES = 256 * 1024
"""Kept aside, so that a stop can be written on a full disk."""

RETRY_S = 1.0

LOOK_EVERY = 8
"""Whoever has been writing alone waits for others only once in so many commits."""

BUSY_S = 0.02
BUSY_TRIES = 125  # each also blocks for as long inside SQLite
"""Another process holds the file for this long at most before we give up: about five seconds."""


_encode = msgspec.json.Encoder().encode


class _Job(msgspec.Struct, eq=False):
    """One append on its way to the disk."""

    lines: list[Line]
    expect: Cursor | None = None
    write: WriteId | None = None
    error: Exception | None = None
    is_done: bool = False

    def is_for_all(self) -> bool:
        """What is said at the helm; an append of nothing is there for the STOP file's sake."""
        return not self.lines or any(run == HELM for run, _, _ in self.lines)


def _lines(entries: Sequence[Entry]) -> list[Line]:
    """As SQLite takes them: for bytes, Python would look for an adapter every time."""
    return [(entry.run, entry.event, bytearray(_encode(entry.event))) for entry in entries]


class _Owed(NamedTuple):
    """A stop that agents were ended for, and that the helm does not tell of yet."""

    stop: Event
    stops: int  # there had been before


class SqliteJournal(SqliteRecords):
    """One connection, used on the loop's own thread: a write costs less than a hop to another.

    Whoever comes first commits for all who wait with it.
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
        self._clean = clean  # of what must never be on a disk
        self._reserve = folder / "reserve"
        self._cursor = self._db.cursor()  # one for all: to make it costs as much as a statement
        self._ledger = Ledger(self._cursor)
        self._bells = Bells(folder / "bells")
        self._queue: list[_Job] = []
        self._has_held_back = False  # whether somebody who was cancelled may not know it yet
        self._leading = False  # somebody is about to commit for all
        self._alone = 0  # commits in a row that nobody joined
        self._committed: anyio.Event | None = None  # for those who wait for that
        self._ears: list[Ear] = []
        self._alarms: list[Alarm] = []
        self._told_pos = self._last_pos()  # everything up to here is known to the ears
        self._helm = Helm()
        self._helm_seq = 0
        self._owed: _Owed | None = None
        self._has_reserve = False
        self._keep_reserve()

    def close(self) -> None:
        super().close()
        self._bells.close()

    async def append(
        self, *entries: Entry, expect: Cursor | None = None, write: WriteId | None = None
    ) -> None:
        # for every turn that would cost a twentieth of it; what is expected guards those
        if expect is None or self._has_held_back:
            await anyio.lowlevel.checkpoint_if_cancelled()
        if self._clean is not None:
            entries = _cleaned(entries, self._clean)
        job = _Job(_lines(entries), expect, write)  # its own trouble if it can't be
        self._queue.append(job)
        while not job.is_done:
            if not self._leading:
                await self._lead()
            else:
                committed = self._committed = self._committed or anyio.Event()
                try:
                    await committed.wait()
                except anyio.get_cancelled_exc_class():
                    await self._hold_back(committed.wait)
        if job.error is not None:
            raise job.error

    async def _lead(self) -> None:
        """Commit everything that waits, and wake those who do."""
        self._leading = True
        if self._alone % LOOK_EVERY == 0:
            try:
                await anyio.lowlevel.checkpoint()  # others who are ready may join
            except anyio.get_cancelled_exc_class():
                await self._hold_back(anyio.lowlevel.checkpoint)
        batch, self._queue = self._queue, []
        self._alone = self._alone + 1 if len(batch) == 1 else 0
        left = list(batch)
        try:
            if not self._try_commit(left):
                await self._commit_later(left)
        except DAMAGE as error:
            _fail(batch, broken(error))
        except StoreBrokenError as error:
            _fail(batch, error)
        finally:
            for job in batch:
                job.is_done = True
            self._leading = False
            committed, self._committed = self._committed, None
            if committed is not None:
                committed.set()

    async def _hold_back(self, wait: Callable[[], Awaitable[None]]) -> None:
        """A write that is on its way can't be called back: being cancelled waits for it too.

        Whoever called goes on with what was written, and is cancelled at its next step.
        """
        self._has_held_back = True
        with anyio.CancelScope(shield=True):
            await wait()

    @contextmanager
    def listen(self, ear: Ear, alarm: Alarm = quiet) -> Iterator[None]:
        self._ears.append(ear)
        self._alarms.append(alarm)
        try:
            yield
        finally:
            self._ears.remove(ear)
            self._alarms.remove(alarm)

    async def attend(self) -> None:
        with self._bells.hang() as bell:
            async with anyio.create_task_group() as group:
                group.start_soon(self._heed_sentinel)
                self._hear_others()
                await self._heed_bell(bell)

    def claim(self, run: RunId) -> AbstractContextManager[None]:
        return self._claims.claim(run)

    # --- writing ---

    async def _commit_later(self, batch: list[_Job]) -> None:
        """Another process has the store: others here go on while this waits for it."""
        for _ in range(BUSY_TRIES):
            with anyio.CancelScope(shield=True):
                await anyio.sleep(BUSY_S)
            if self._try_commit(batch):
                return
        hint = "it may hang: `allstop stop` ends it"
        _fail(batch, StoreBusyError("another process keeps the store locked", hint))

    def _try_commit(self, batch: list[_Job]) -> bool:
        """Write the jobs that still fit in one transaction; the others are told why not.

        False when another process is writing: then what is left in the batch has to wait for it.
        """
        try:
            self._cursor.execute("begin immediate")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                return False
            raise
        try:
            page = self._ledger.page()
            self._heed_stop_file(page)
            for job in batch:
                self._write_if_it_fits(page, job)
            page.write()
            self._cursor.execute("commit")
            self._owed = None
        except Exception as error:
            self._undo()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_FULL:
                raise
            return self._without_room(batch)
        if page.first == self._told_pos + 1:
            self._told_pos = page.last
        self._tell(page.written)
        if not self._has_reserve:
            self._keep_reserve()
        self._bells.ring()
        return True

    def _undo(self) -> None:
        with suppress(sqlite3.Error):
            self._db.execute("rollback")
        self._ledger.forget()
        self._helm, self._helm_seq = Helm(), 0  # the transaction that was read is lost

    def _without_room(self, batch: list[_Job]) -> bool:
        """On a full disk only what a person says to all is still written, from the reserve.

        False when that has to wait for another process.
        """
        full = StoreFullError("the disk is full", f"make room for {self.folder}")
        spoken = [job for job in batch if job.is_for_all()]
        if not spoken or not self._reserve.exists():
            _fail(batch, full)
            return True
        self._reserve.unlink()
        self._has_reserve = False
        with suppress(sqlite3.Error):
            self._db.execute("pragma wal_checkpoint(passive)")
        _fail([job for job in batch if job not in spoken], full)
        batch[:] = spoken
        return self._try_commit(batch)

    def _write_if_it_fits(self, page: Page, job: _Job) -> None:
        if job.write is not None and self._is_written(job.write):
            return
        job.error = page.refusal(job.expect)
        if job.error is None:
            page.add(job.lines)
            if job.write is not None:
                self._db.execute("insert into writes values (?)", (job.write,))

    def _is_written(self, write: WriteId) -> bool:
        sql = "select 1 from writes where id = ?"
        return self._db.execute(sql, (write,)).fetchone() is not None

    # --- the STOP file ---

    def _heed_stop_file(self, page: Page) -> None:
        """A STOP file counts like the command: it is on the helm before anything else is written."""
        if self._owed is None and not self.sentinel.is_up():
            return
        self._owe_stop()
        if self._owed is not None:
            page.add(_lines([Entry(HELM, self._owed.stop)]))
            self._sound_alarms()

    def _owe_stop(self) -> None:
        """Once alarms are sounded, the stop is written even if the file is taken away meanwhile;
        but not again where another process has written it.
        """
        for seq, event in self._db.execute(
            "select e.seq, e.event from runs r join events e on e.run = r.id"
            " where r.run = ? and e.seq > ? order by e.seq",
            (HELM, self._helm_seq),
        ).fetchall():
            self._helm, self._helm_seq = steer(self._helm, self._event(HELM, seq, event)), seq
        if self._owed is None:
            is_new = self._helm.hold is not Hold.STOPPED
            self._owed = _Owed(self._stop(), self._helm.stops) if is_new else None
        elif self._helm.stops > self._owed.stops:
            self._owed = None

    def _sound_alarms(self) -> None:
        """Before the disk has taken the stop, which may last."""
        for alarm in self._alarms:
            alarm()

    def _stop(self) -> Event:
        """With the words that are in the file, if they can be made fit to be kept."""
        now = self._clock.now()
        try:
            stop = Commanded(at=now, command=Allstop(), by=self.sentinel.why())
            return self._clean(stop) if self._clean else stop
        except Exception:  # noqa: BLE001 - nothing is in the way of a stop
            return Commanded(at=now, command=Allstop(), by=NOBODY)

    async def _heed_sentinel(self) -> None:
        while True:
            if self._owed is None:
                await self.sentinel.raised()
            with suppress(*DAMAGE, StoreBrokenError):  # who writes is told of it
                self._owe_stop()
            self._sound_alarms()
            try:
                await self.append()
            except (StoreBusyError, StoreFullError):
                await anyio.sleep(RETRY_S)
                continue
            await self.sentinel.lowered()

    # --- hearing ---

    def _tell(self, written: dict[RunId, int]) -> None:
        for run, seq in written.items():
            for ear in self._ears:
                ear(run, seq)

    async def _heed_bell(self, bell: Bell) -> None:
        while True:
            await bell.heard()
            self._hear_others()

    def _hear_others(self) -> None:
        """Tell the ears of everything that was written since they were last told."""
        rows = self._query(
            # `not indexed`: the index would give the groups in order, by reading all there ever was
            "select r.run, max(e.seq), max(e.pos) from events e not indexed"
            " join runs r on r.id = e.run where e.pos > ? group by e.run",
            (self._told_pos,),
        )
        self._told_pos = max([self._told_pos, *(pos for _, _, pos in rows)])
        self._tell({RunId(run): seq for run, seq, _ in rows})

    def _keep_reserve(self) -> None:
        """Put it aside where there is ample room; otherwise the next time there is."""
        with suppress(OSError):
            room = os.statvfs(self.folder)
            whole = self._reserve.exists() and self._reserve.stat().st_size == RESERVE_BYTES
            if not whole and room.f_bavail * room.f_frsize > 4 * RESERVE_BYTES:
                self._reserve.write_bytes(os.urandom(RESERVE_BYTES))
                whole = True
            self._has_reserve = whole


def _cleaned(entries: Sequence[Entry], clean: Callable[[Event], Event]) -> tuple[Entry, ...]:
    """Nothing is in the way of a stop: on the helm there are no words of others."""
    return tuple([e if e.run == HELM else Entry(e.run, clean(e.event)) for e in entries])


def _fail(batch: list[_Job], error: Exception) -> None:
    for job in batch:
        job.error = error
