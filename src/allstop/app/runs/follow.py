"""Following runs: their new records, from whichever process writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio

from allstop.core.events import Closed
from allstop.core.ids import RunId, root_of
from allstop.ports import Journal, Listener, Record


class Follower:
    """Iterates over batches of new records of the wanted runs; each batch is of one run."""

    def __init__(
        self, journal: Journal, is_wanted: Callable[[RunId], bool], after: Mapping[RunId, int]
    ) -> None:
        self._journal = journal
        self._is_wanted = is_wanted
        self._seqs = dict(after)
        self._waiting: dict[RunId, None] = dict.fromkeys(after)
        self._wake = anyio.Event()

    def on_write(self, run: RunId, seq: int) -> None:
        if self._is_wanted(run):
            self._waiting[run] = None
            self._wake.set()

    def __aiter__(self) -> Follower:
        return self

    async def __anext__(self) -> Sequence[Record]:
        while True:
            while self._waiting:
                run = next(iter(self._waiting))
                del self._waiting[run]
                records = await self._journal.read(run, after=self._seqs.get(run, 0))
                if records:
                    self._seqs[run] = records[-1].seq
                    return records
            self._wake = anyio.Event()
            await self._wake.wait()


class _UntilClosed(Follower):
    _closed = False

    async def __anext__(self) -> Sequence[Record]:
        if self._closed:
            raise StopAsyncIteration
        records = await super().__anext__()
        self._closed = isinstance(records[-1].event, Closed)
        return records


def follow(journal: Journal, run: RunId, after: int = 0) -> AbstractAsyncContextManager[Follower]:
    """The run's records after `after`, existing and new ones, until it is closed."""
    return _listening(_UntilClosed(journal, lambda each: each == run, {run: after}), journal)


def follow_tree(
    journal: Journal, root: RunId, after: Mapping[RunId, int]
) -> AbstractAsyncContextManager[Follower]:
    """The new records of a run and of all runs below it, after `after`, without end."""
    return _listening(Follower(journal, lambda run: root_of(run) == root, after), journal)


def follow_some(
    journal: Journal, after: Mapping[RunId, int]
) -> AbstractAsyncContextManager[Follower]:
    """The new records of exactly these runs, after `after`, without end."""
    return _listening(Follower(journal, lambda run: run in after, after), journal)


@asynccontextmanager
async def _listening(follower: Follower, journal: Journal) -> AsyncIterator[Follower]:
    async with anyio.create_task_group() as group:
        with journal.listen(follower.on_write):
            group.start_soon(journal.watch_writes)
            yield follower
        group.cancel_scope.cancel()


class Reader:
    """Reads the new records of requested runs and passes each one to `look` once.

    Errors go to `trouble`: a failing `look` must not stop the runs.
    """

    def __init__(
        self, journal: Journal, look: Callable[[Record], None], trouble: Callable[[str], None]
    ) -> None:
        self.seqs: dict[RunId, int] = {}  # how far each run has been read
        self._journal = journal
        self._look = look
        self._trouble = trouble
        self._waiting: dict[RunId, None] = {}
        self._wake = anyio.Event()
        self._reading = anyio.Lock()

    def want(self, run: RunId) -> None:
        self._waiting[run] = None
        self._wake.set()

    @asynccontextmanager
    async def listening(self, on_write: Listener) -> AsyncIterator[None]:
        """`on_write` calls `want`; all wanted runs have been read when the block ends."""
        async with anyio.create_task_group() as group:
            with self._journal.listen(on_write):
                group.start_soon(self._follow)
                yield
                await self._catch_up()
            group.cancel_scope.cancel()

    async def _follow(self) -> None:
        while True:
            self._wake = anyio.Event()
            await self._catch_up()
            await self._wake.wait()

    async def _catch_up(self) -> None:
        async with self._reading:
            while self._waiting:
                run = next(iter(self._waiting))
                del self._waiting[run]
                await self._read(run)

    async def _read(self, run: RunId) -> None:
        before = self.seqs.get(run, 0)
        try:
            for record in await self._journal.read(run, after=before):
                self.seqs[run] = record.seq
                self._look(record)
        except Exception as error:  # noqa: BLE001 - a failing `look` must not stop the runs
            self._trouble(f"{type(error).__name__}: {error}")
            if self.seqs.get(run, 0) > before:
                self.want(run)  # continue after the record that failed
