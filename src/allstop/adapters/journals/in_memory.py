"""A journal in memory, which is lost when the process ends."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import anyio
import anyio.lowlevel

from allstop import ports
from allstop.core.events import Closed, Opened
from allstop.core.ids import HELM, STREAMS, RunId, WriteId


class MemoryJournal:
    def __init__(self) -> None:
        self._records: dict[RunId, list[ports.Record]] = {}
        self._all: list[ports.Record] = []
        self._writes: set[WriteId] = set()
        self._listeners: list[ports.Listener] = []
        self._claimed: set[RunId] = set()

    async def append(
        self,
        *entries: ports.Entry,
        expect: ports.Cursor | None = None,
        write: WriteId | None = None,
    ) -> None:
        await anyio.lowlevel.checkpoint()
        if write is not None and write in self._writes:
            return
        seen = expect and (expect.seq, expect.helm)
        if expect is not None and seen != (self._last(expect.run), self._last(HELM)):
            raise ports.StaleError(expect.run)
        if expect is not None and expect.place is not None and expect.place < len(self._all):
            raise ports.StaleError(expect.run)  # it isn't known here which process wrote
        if write is not None:
            self._writes.add(write)
        for entry in entries:
            number = self._last(entry.run) + 1
            record = ports.Record(entry.run, number, entry.event)
            self._records.setdefault(entry.run, []).append(record)
            self._all.append(record)
        for run in dict.fromkeys(entry.run for entry in entries):
            for listener in self._listeners:
                listener(run, self._last(run))

    async def read(
        self, run: RunId, after: int = 0, most: int | None = None
    ) -> Sequence[ports.Record]:
        end = None if most is None else after + most
        return tuple(self._records.get(run, ())[after:end])

    async def written(self, after: int, most: int) -> Sequence[ports.PositionedRecord]:
        records = self._all[after : after + most]
        return [
            ports.PositionedRecord(pos, record)
            for pos, record in enumerate(records, start=after + 1)
        ]

    async def last_place(self) -> int:
        return len(self._all)

    async def heads(self, *, open_only: bool = False, since: int = 0) -> Sequence[ports.Head]:
        newer = {record.run for record in self._all[since:]} if since else self._records.keys()
        heads = (
            _head(records)
            for run, records in self._records.items()
            if run not in STREAMS and run in newer
        )
        return [head for head in heads if not (open_only and head.closed)]

    @contextmanager
    def listen(
        self,
        listener: ports.Listener,
        alarm: ports.Alarm = ports.no_alarm,
        cut_off: ports.Alarm = ports.no_alarm,
    ) -> Iterator[None]:
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    async def watch_writes(self) -> None:
        await anyio.sleep_forever()

    @asynccontextmanager
    async def claim(self, run: RunId) -> AsyncIterator[None]:
        if run in self._claimed:
            raise ports.HeldError(run, None)
        self._claimed.add(run)
        try:
            yield
        finally:
            self._claimed.discard(run)

    def holders(self) -> dict[RunId, ports.Holder | None]:
        return dict.fromkeys(self._claimed)

    def _last(self, run: RunId) -> int:
        return len(self._records.get(run, ()))


def _head(records: Sequence[ports.Record]) -> ports.Head:
    opened, last = records[0].event, records[-1]
    assert isinstance(opened, Opened), "a run starts with Opened"
    closed = any(isinstance(record.event, Closed) for record in reversed(records))
    return ports.Head(last.run, opened.kind, opened.parent, last.seq, opened.at, closed)
