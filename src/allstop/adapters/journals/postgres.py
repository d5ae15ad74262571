"""A journal on PostgreSQL that processes of several machines may share."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import msgspec
from anyio.to_thread import run_sync

from allstop.adapters.journals.heartbeat import Heartbeat, LeaseTimes, now
from allstop.adapters.journals.postgres_connection import Link
from allstop.adapters.journals.postgres_reader import HOLDERS, PostgresRecords, call, holder_of
from allstop.adapters.journals.postgres_schema import MIGRATIONS, prepare
from allstop.adapters.journals.stop_file import UNNAMED
from allstop.adapters.journals.write_jobs import Job, encode_jobs
from allstop.core.commands import Allstop
from allstop.core.events import Commanded, Event
from allstop.core.helm import Helm, Hold, steer
from allstop.core.ids import HELM, RunId, WriteId, with_ancestors
from allstop.ports import (
    Alarm,
    ClaimLostError,
    Clock,
    Cursor,
    Entry,
    HeldError,
    Holder,
    Listener,
    NoRoomError,
    StaleError,
    StoreBrokenError,
    StoreTroubleError,
    no_alarm,
)

if TYPE_CHECKING:
    import psycopg

RETRY_S = 1.0

MAX_JOBS = 200
"""How many appends are written in one transaction."""

_REGISTER = "select allstop.register(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


class _Claim:
    """A claim of this process: the run and the epoch that the store gave it."""

    def __init__(self, run: RunId, epoch: int) -> None:
        self.run = run
        self.epoch = epoch
        self.is_known_lost = False


class PostgresJournal(PostgresRecords):
    """Writers that come while a write is under way are written together in the next one."""

    def __init__(
        self,
        url: str,
        folder: Path,
        clock: Clock,
        *,
        own: Holder,
        repository: str = "",
        clean: Callable[[Event], Event] | None = None,
        times: LeaseTimes | None = None,
        is_gone: Callable[[Holder], bool] = lambda holder: False,
        facts: Callable[[], Mapping[str, object]] = dict,
    ) -> None:
        """`facts` says with each heartbeat what the store should know, such as the load."""
        super().__init__(url, folder, repository, is_gone)
        self.own = msgspec.structs.replace(own, process=str(uuid.uuid4()))
        self._clock = clock
        self._clean = clean
        self._facts = facts
        self._about: Mapping[str, object] = {}
        self._is_known = False  # whether the store has heard of this process
        self._writer = Link(url, self._begin)
        times = times or LeaseTimes()
        self._heartbeat = Heartbeat(
            url, times, self.own.process, self._register, version=len(MIGRATIONS)
        )
        self._held: dict[RunId, _Claim] = {}
        self._claiming: set[RunId] = set()
        self._doubtful: set[RunId] = set()  # the store may say that this process has claimed them
        self._queue: list[Job] = []
        self._commits = anyio.Lock(fast_acquire=True)
        self._listeners: list[Listener] = []
        self._alarms: list[Alarm] = []
        self._cut_offs: list[Alarm] = []
        self._hearers: dict[str, Alarm] = {}  # by channel of the database
        self._watching = 0
        self._one_watches = anyio.Lock(fast_acquire=True)
        self._first_place: int | None = None  # listeners are told of what was written after it
        self._helm, self._helm_seq = Helm(), 0
        self._stop: Event | None = None  # agents were ended for it, and it isn't on the helm yet
        self._stops = 0  # how many were on the helm before that

    def close(self) -> None:
        if self._is_known:  # its claims would only end with the lease
            with suppress(StoreTroubleError, StoreBrokenError):
                self._writer.run(self._leave)
        self._heartbeat.close()
        self._writer.close()
        super().close()

    # --- writing ---

    async def append(
        self, *entries: Entry, expect: Cursor | None = None, write: WriteId | None = None
    ) -> None:
        if expect is None:
            await anyio.lowlevel.checkpoint_if_cancelled()
        if self._clean is not None:
            entries = tuple(
                e if e.run == HELM else Entry(e.run, self._clean(e.event)) for e in entries
            )
        job = Job.of(entries, expect, write, self._claim_over(expect.run) if expect else None)
        self._queue.append(job)
        with anyio.CancelScope(shield=True):  # the write can't be undone
            async with self._commits:
                if not job.is_done:
                    await self._commit_queue()
        if job.error is not None:
            raise job.error

    async def _commit_queue(self) -> None:
        """Commit what is queued; the caller has the lock."""
        batch, self._queue = self._queue[:MAX_JOBS], self._queue[MAX_JOBS:]
        try:
            await self._apply_stop_file()
            await self._commit([job for job in batch if job.entries])
        except (StoreTroubleError, StoreBrokenError) as error:
            for job in batch:
                job.fail(error)
        finally:
            for job in batch:
                job.is_done = True

    async def _commit(self, batch: Sequence[Job]) -> None:
        if not batch:
            return
        jobs, bodies = encode_jobs(batch)

        def work(connection: psycopg.Connection) -> dict[str, object]:
            row = connection.execute(
                "select allstop.append(%s, %s, %s)", (self.own.process, jobs, bodies)
            ).fetchone()
            assert row is not None
            found: dict[str, object] = row[0]
            return found

        began = now()
        found = await run_sync(lambda: self._writer.run(work))
        answer = msgspec.convert(found, _Answer)
        for job, verdict in zip(batch, answer.verdicts, strict=True):
            job.error = self._refusal(job, verdict)
        if answer.written:
            self._heartbeat.note_seen(began)
            self._heartbeat.note_own(answer.first, answer.last)
            self._announce(answer.written)

    def _refusal(self, job: Job, verdict: str) -> Exception | None:
        match verdict:
            case "ok" | "again":
                return None
            case "claim lost":
                assert job.claim is not None
                self._held.pop(job.claim[0], None)
                return ClaimLostError(job.claim[0], None)
            case "no room":
                assert job.expect is not None
                return NoRoomError(job.expect.run)
            case _:
                assert job.expect is not None
                return StaleError(job.expect.run)

    def _begin(self, connection: psycopg.Connection) -> None:
        self._check(connection)
        self._register(connection)
        connection.execute("select allstop.prune()")

    def _check(self, connection: psycopg.Connection) -> None:
        prepare(connection, self._repository, writes=True)
        if self._first_place is None:
            row = connection.execute("select coalesce(max(pos), 0) from allstop.events").fetchone()
            self._first_place = int(row[0]) if row else 0

    # --- the STOP file of this machine ---

    async def _apply_stop_file(self) -> None:
        """Record a STOP file as a stop on the helm, before any other event is written."""
        if self._stop is None and not self.stop_file.exists():
            return
        while await self._is_stop_due():
            stop = self._stop
            assert stop is not None
            self._call_alarms()
            job = Job.of(
                (Entry(HELM, stop),), Cursor(HELM, self._helm_seq, self._helm_seq), None, None
            )
            await self._commit([job])
            if job.error is None:
                self._stop = None
                return

    async def _is_stop_due(self) -> bool:
        """Once alarms were called the stop is written even if the file is gone, unless it is there."""
        for record in await self.read(HELM, after=self._helm_seq):
            self._helm, self._helm_seq = steer(self._helm, record.event), record.seq
        if self._stop is not None:
            if self._helm.stops > self._stops:
                self._stop = None
        elif self._helm.hold is not Hold.STOPPED and self.stop_file.exists():
            self._stop, self._stops = self._own_stop(), self._helm.stops
        return self._stop is not None

    def _own_stop(self) -> Event:
        """The stop with the text in the file, if that can be cleaned of secrets."""
        at, host = self._clock.now(), self.own.host
        try:
            by = f"{self.stop_file.author()} on {host}"
            stop = Commanded(at=at, command=Allstop(), by=by)
            return self._clean(stop) if self._clean else stop
        except Exception:  # noqa: BLE001 - no error may prevent a stop
            return Commanded(at=at, command=Allstop(), by=f"{UNNAMED} on {host}")

    def _call_alarms(self) -> None:
        for alarm in self._alarms:
            alarm()

    async def _watch_stop_file(self) -> None:
        while True:
            await self.stop_file.wait_created()
            # agents are ended at once; the helm is told when the store answers
            if self._helm.hold is not Hold.STOPPED:
                self._call_alarms()
            try:
                await self.append()
            except StoreTroubleError:
                await anyio.sleep(RETRY_S)
                continue
            with anyio.move_on_after(self._heartbeat.times.look_s):
                await self.stop_file.wait_removed()

    # --- listening ---

    @contextmanager
    def listen(
        self, listener: Listener, alarm: Alarm = no_alarm, cut_off: Alarm = no_alarm
    ) -> Iterator[None]:
        self._listeners.append(listener)
        self._alarms.append(alarm)
        self._cut_offs.append(cut_off)
        try:
            yield
        finally:
            self._listeners.remove(listener)
            self._alarms.remove(alarm)
            self._cut_offs.remove(cut_off)

    def hear(self, channel: str, alarm: Alarm) -> None:
        """Call `alarm` for each notice on another channel of the database, once it is watched."""
        self._hearers[channel] = alarm
        self._heartbeat.hear(channel)

    async def watch_writes(self) -> None:
        self._watching += 1
        try:
            async with self._one_watches:  # the others take over when it ends
                await self._watch()
        finally:
            self._watching -= 1

    async def _watch(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_stop_file)
            group.start_soon(self._watch_lease)
            self._heartbeat.start(self._first_place or 0)
            while True:
                self._announce(self._heartbeat.take_news())
                for channel in self._heartbeat.take_heard():
                    self._hearers[channel]()
                self._check_claims()
                await anyio.wait_readable(self._heartbeat.bell)

    def _check_claims(self) -> None:
        """End all agents if another process has taken over a run of this one."""
        epochs = self._heartbeat.epochs  # they may be older than a claim, which proves nothing
        lost = [claim for claim in self._held.values() if epochs.get(claim.run, 0) > claim.epoch]
        if not all(claim.is_known_lost for claim in lost):
            for claim in lost:
                claim.is_known_lost = True  # it ends with the next write
            for cut_off in list(self._cut_offs):
                cut_off()

    async def _watch_lease(self) -> None:
        """This timer awaits no socket, so a cut network can't delay it."""
        heartbeat = self._heartbeat
        while True:
            while heartbeat.left_s() > 0:  # noqa: ASYNC110 - a thread knows it
                await anyio.sleep(min(1.0, heartbeat.left_s()))  # the machine may sleep meanwhile
            for cut_off in list(self._cut_offs):
                cut_off()
            while heartbeat.left_s() <= 0:  # noqa: ASYNC110 - a thread knows it
                await anyio.sleep(0.2)

    def _announce(self, written: Mapping[RunId, int]) -> None:
        for run, seq in written.items():
            for listener in self._listeners:
                listener(run, seq)

    # --- claims ---

    @asynccontextmanager
    async def claim(self, run: RunId) -> AsyncIterator[None]:
        claim = self._held[run] = await self._take(run)
        try:
            yield
        finally:
            if self._held.get(run) is claim:
                del self._held[run]
            with anyio.CancelScope(shield=True), suppress(StoreBrokenError):
                try:
                    await run_sync(lambda: self._writer.run(lambda c: self._release(c, claim)))
                except StoreTroubleError:
                    self._doubtful.add(run)

    async def _take(self, run: RunId) -> _Claim:
        if run in self._held or run in self._claiming:
            raise HeldError(run, self.own)
        self._claiming.add(run)
        try:
            with anyio.CancelScope(shield=True):
                epoch = await run_sync(lambda: self._writer.run(lambda c: self._claim(c, run)))
        except StoreTroubleError:
            self._doubtful.add(run)
            raise
        finally:
            self._claiming.discard(run)
        if isinstance(epoch, Holder):
            raise HeldError(run, epoch)
        self._heartbeat.start(self._first_place or 0)
        return _Claim(run, epoch)

    def _claim(self, connection: psycopg.Connection, run: RunId) -> int | Holder:
        """The epoch; or the process that has it, unless that is known to have ended.

        If it is this process, the answer to an earlier try was lost.
        """
        self._register(connection)
        if (given := self._try_claim(connection, run, None)) is not None:
            return given
        rows = connection.execute(f"{HOLDERS} and c.run = %s".encode(), (run,)).fetchall()
        holder = holder_of(rows[0]) if rows else None
        if holder is None or holder.process == self.own.process or self._is_gone(holder):
            given = self._try_claim(connection, run, holder.process if holder else None)
        return given if given is not None else holder or self.own

    def _try_claim(
        self, connection: psycopg.Connection, run: RunId, gone: str | None
    ) -> int | None:
        row = connection.execute(
            "select allstop.claim(%s, %s, %s)", (self.own.process, run, gone)
        ).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    def _release(self, connection: psycopg.Connection, claim: _Claim) -> None:
        connection.execute(
            "select allstop.release(%s, %s, %s)", (self.own.process, claim.run, claim.epoch)
        )

    def _give_back(self, connection: psycopg.Connection) -> None:
        """End claims in the store that this process doesn't know of: nobody would drive the runs."""
        for run in self._doubtful - self._claiming - self._held.keys():
            connection.execute(
                "select allstop.release(process, run, epoch) from allstop.claims"
                " where process = %s and run = %s",
                (self.own.process, run),
            )
            self._doubtful.discard(run)

    def _leave(self, connection: psycopg.Connection) -> None:
        connection.execute("select allstop.leave(%s)", (self.own.process,))

    def _claim_over(self, run: RunId) -> tuple[RunId, int] | None:
        """This process's claim on the run, or on the nearest run above it."""
        claims = (self._held[each] for each in with_ancestors(run) if each in self._held)
        return next(((claim.run, claim.epoch) for claim in claims), None)

    def holders(self) -> dict[RunId, Holder | None]:
        kept = self._heartbeat.holders if self._watching else None
        if kept is None:
            return super().holders()
        held: dict[RunId, Holder | None] = {
            run: holder
            for run, holder in kept.items()
            if holder and holder.process != self.own.process and not self._is_gone(holder)
        }
        return held | dict.fromkeys(self._held, self.own)

    def _register(self, connection: psycopg.Connection) -> None:
        own = self.own
        values = (
            *(own.process, own.host, own.world, own.pid, own.started, own.worker, own.command),
            *(own.since, self._heartbeat.times.lease_s),
            msgspec.json.encode({**self._facts(), **self._about}).decode(),
        )
        connection.execute(_REGISTER, values)
        self._is_known = True
        self._give_back(connection)

    async def set_about(self, about: Mapping[str, object]) -> None:
        """Tell the store what this process does, such as its role and its slots."""
        self._about = about
        await call(lambda: self._writer.run(self._register))
        self._heartbeat.start(self._first_place or 0)

    @property
    def drained_by(self) -> str:
        """Who wants this process to finish its work and take no more; "" if nobody does."""
        return self._heartbeat.drained_by

    async def drain(self, process: str, by: str) -> None:
        """Ask a process to finish its work and take no more; by nobody: to take work again."""

        def work(connection: psycopg.Connection) -> None:
            connection.execute("select allstop.drain(%s, %s)", (process, by))

        await call(lambda: self._writer.run(work))


class _Answer(msgspec.Struct):
    first: int
    last: int
    verdicts: list[str]
    written: dict[RunId, int]
