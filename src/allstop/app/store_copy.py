"""Copies a journal from one store to another, and proves that the copy is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allstop.app.project import SQLITE
from allstop.app.store import open_postgres
from allstop.core import run as runs
from allstop.core.errors import AllstopError
from allstop.core.events import Opened
from allstop.core.ids import STREAMS, WriteId
from allstop.ports import Entry, Journal, StoreBrokenError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from allstop.app.project import Project, ProjectJournal
    from allstop.ports import PositionedRecord

PAGE = 500


class Copied(NamedTuple):
    events: int
    runs: int


class CheckedStore(NamedTuple):
    address: str  # without the password
    events: int
    runs: int
    open_runs: int
    holders: int  # runs that a process drives now


async def copy(project: Project, *, to_sqlite: bool) -> Copied:
    """Copy between the file of this folder and the database of the settings, and compare both.

    A copy that was interrupted is continued.

    Raises AllstopError if a process drives runs, or if the target holds anything else.
    """
    if project.store_url == SQLITE:
        hint = "set ALLSTOP_STORE_URL, or [store] url in your own settings, to the database"
        raise AllstopError("no database is set", hint, code="store_no_address")
    server = open_postgres(project, project.store_url, clean=None)
    file = _open_file(project)
    source, target = (server, file) if to_sqlite else (file, server)
    try:
        _refuse_busy(source, target)
        start = await _common_start(source, target)
        await _copy_rest(source, target, start)
        copied = await _verified(project, source, target)
        _note_move(project, to_sqlite=to_sqlite)
        return copied
    finally:
        server.close()
        file.close()


def _note_move(project: Project, *, to_sqlite: bool) -> None:
    """From now on, a process that isn't told of the database must not write to the older copy."""
    from allstop.adapters.journals.postgres_connection import describe

    if to_sqlite:
        project.moved_file.unlink(missing_ok=True)
    else:
        project.moved_file.write_text(f"{describe(project.store_url)}\n", encoding="utf-8")


def _open_file(project: Project) -> ProjectJournal:
    from allstop.adapters.journals.sqlite import SqliteJournal

    project.make_folder()
    return SqliteJournal(project.folder, project.clock)


def _refuse_busy(source: ProjectJournal, target: ProjectJournal) -> None:
    if source.stop_file.exists():
        hint = "`allstop resume` lifts the stop"
        raise AllstopError("there is a STOP file", hint, code="store_stopped")
    for journal in (source, target):
        for run, holder in journal.holders().items():
            who = holder.name if holder else "a process"
            raise AllstopError(
                f"{who} drives {run}", "end it first, then copy", code="store_in_use"
            )


async def _pages(journal: Journal) -> AsyncIterator[PositionedRecord]:
    position = 0
    while records := await journal.written(position, PAGE):
        for each in records:
            position = each.pos
            yield each


async def _common_start(source: Journal, target: Journal) -> int:
    """The position in the source up to which the target already has its records."""
    position = 0
    originals = _pages(source)
    async for copy_ in _pages(target):
        original = await anext(originals, None)
        if original is None or original.record != copy_.record:
            raise AllstopError(
                "the target holds other records",
                "copy into an empty database, or move .allstop/journal.db away",
                code="store_not_empty",
            )
        position = original.pos
    return position


async def _copy_rest(source: Journal, target: Journal, position: int) -> None:
    while records := await source.written(position, PAGE):
        entries = (Entry(each.record.run, each.record.event) for each in records)
        await target.append(*entries, write=WriteId(f"copy:{records[0].pos}"))
        position = records[-1].pos


async def _verified(project: Project, source: Journal, target: Journal) -> Copied:
    """Compare all records, and replay each run from both."""
    events = 0
    originals = _pages(source)
    async for copy_ in _pages(target):
        original = await anext(originals, None)
        if original is None or original.record != copy_.record:
            raise _differs(copy_)
        events += 1
    if (missing := await anext(originals, None)) is not None:
        raise _differs(missing)
    heads = await source.heads()
    for head in heads:
        if head.run in STREAMS or head.kind not in project.kinds:
            continue
        pilot = project.kinds[head.kind].pilot
        states = [
            runs.fold(pilot, [record.event for record in await journal.read(head.run)])
            for journal in (source, target)
        ]
        if states[0] != states[1]:
            raise StoreBrokenError(f"the copy of {head.run} replays to another state")
    if [(h.run, h.seq, h.closed) for h in heads] != [
        (h.run, h.seq, h.closed) for h in await target.heads()
    ]:
        raise StoreBrokenError("the copy lists other runs")
    return Copied(events=events, runs=len(heads))


def _differs(record: PositionedRecord) -> StoreBrokenError:
    run, seq, _ = record.record
    return StoreBrokenError(f"the copy differs at event {seq} of {run}", "copy again")


async def check(project: Project) -> CheckedStore:
    """Read every event of the store and replay every run.

    Raises StoreBrokenError if an event can't be read, or is missing.
    """
    journal = project.journal
    seqs: dict[str, int] = {}
    events = 0
    async for placed in _pages(journal):
        run, seq, event = placed.record
        if seq != seqs.get(run, 0) + 1:
            raise StoreBrokenError(f"event {seqs.get(run, 0) + 1} of {run} is missing")
        if seq == 1 and run not in STREAMS and not isinstance(event, Opened):
            raise StoreBrokenError(f"{run} doesn't begin with its opening")
        seqs[run] = seq
        events += 1
    heads = await journal.heads()
    for head in heads:
        if seqs.get(head.run) != head.seq:
            raise StoreBrokenError(f"{head.run} has {seqs.get(head.run, 0)} events, not {head.seq}")
        if head.kind in project.kinds:
            records = await journal.read(head.run)
            runs.fold(project.kinds[head.kind].pilot, [record.event for record in records])
    return CheckedStore(
        address=_address(project),
        events=events,
        runs=len(heads),
        open_runs=sum(not head.closed for head in heads),
        holders=len(journal.holders()),
    )


def _address(project: Project) -> str:
    if project.store_url == SQLITE:
        return str(project.folder / "journal.db")
    from allstop.adapters.journals.postgres_connection import describe

    return describe(project.store_url)
