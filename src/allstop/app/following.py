"""Following a run as it happens, whichever process writes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio

from allstop.core.events import Closed
from allstop.core.ids import RunId
from allstop.ports import Journal, Record


@asynccontextmanager
async def follow(
    journal: Journal, run: RunId, after: int = 0
) -> AsyncIterator[AsyncIterator[Sequence[Record]]]:
    """What is there, then what comes, until the run is closed."""
    news = _News(journal, run, after)
    async with anyio.create_task_group() as group:
        with journal.listen(news.ear):
            group.start_soon(journal.attend)
            yield news
        group.cancel_scope.cancel()


class _News:
    def __init__(self, journal: Journal, run: RunId, after: int) -> None:
        self._journal = journal
        self._run = run
        self._seq = after
        self._bell = anyio.Event()
        self._closed = False

    def ear(self, run: RunId, seq: int) -> None:
        if run == self._run and seq > self._seq:
            self._bell.set()

    def __aiter__(self) -> _News:
        return self

    async def __anext__(self) -> Sequence[Record]:
        if self._closed:
            raise StopAsyncIteration
        while True:
            bell = self._bell = anyio.Event()
            records = await self._journal.read(self._run, after=self._seq)
            if records:
                self._seq = records[-1].seq
                self._closed = isinstance(records[-1].event, Closed)
                return records
            await bell.wait()
