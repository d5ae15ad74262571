"""Stopping everything from outside: it works although the process that drives hangs."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from allstop.adapters.journals.stop_file import StopFile
from allstop.adapters.processes.live_registry import kill_recorded, recorded_trees
from allstop.app.rooms.threads import stop_undriven_sessions
from allstop.app.runs.status import RunRecord, helm_of, other_drivers, record_of
from allstop.app.runtime import engine_name
from allstop.core import helm
from allstop.core import run as runs
from allstop.core.commands import Allstop, Resume
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded, Halted, Killed
from allstop.core.helm import Hold
from allstop.core.ids import HELM, RunId, root_of
from allstop.ports import Entry, Holder, StoreBrokenError, StoreBusyError, StoreFullError
from allstop.views.log import describe, left_as

if TYPE_CHECKING:
    from allstop.adapters.journals.sqlite import SqliteJournal
    from allstop.app.project import Project

ANSWER_S = 1.0
"""How long a process has to end its agents by itself before they are ended from here."""


class Stopped(Struct, frozen=True, kw_only=True):
    """What a stop from outside did."""

    receipt: Halted
    silent: tuple[int, ...] = ()  # processes that did not answer, and were ended
    recorded: bool = True  # in the journal too
    filed: bool = True  # the STOP file stands


async def stop(project: Project, by: str) -> Stopped:
    """Write the stop where everybody looks, wait for those who drive, end what is left."""
    asked_at = project.clock.now()
    raise_stop_file(project, by)
    stop_ = Commanded(at=asked_at, command=Allstop(), by=by)
    answers: dict[str, Halted] = {}
    driving: dict[int, Holder] = {}
    try:
        driving = other_drivers(project)
        with anyio.move_on_after(ANSWER_S):
            await _say_and_wait(project, stop_, set(driving), answers)
    except* StoreBrokenError:
        pass  # the STOP file stands, and what is left is ended
    silent = tuple(pid for pid in driving if engine_name(pid) not in answers)
    killed = kill_recorded(project.live) if project.live.exists() else ()
    cut = await _driven_by(project, silent)
    for pid in silent:
        _end(project, pid)
    return await _receipt(project, stop_, answers, silent, killed, cut)


async def _driven_by(project: Project, silent: tuple[int, ...]) -> dict[RunId, RunRecord]:
    """The open runs of processes that can't say themselves how they left them."""
    try:
        held = {run for run, who in project.records.holders().items() if who and who.pid in silent}
        heads = await project.records.heads() if held else []
        return {
            head.run: await record_of(project, head.run)
            for head in heads
            if not head.closed and root_of(head.run) in held
        }
    except AllstopError:
        return {}  # no record, no word of it


def raise_stop_file(project: Project, why: str) -> None:
    """First of all, because it needs neither the store nor an answer."""
    with suppress(OSError):
        project.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        StopFile(project.folder / "STOP").create(why)


async def _say_and_wait(
    project: Project, stop_: Commanded, driving: set[int], answers: dict[str, Halted]
) -> None:
    journal = project.journal
    heard = anyio.Event()

    def on_write(run: RunId, seq: int) -> None:
        if run == HELM:
            heard.set()

    async with anyio.create_task_group() as group:
        with journal.listen(on_write):
            group.start_soon(journal.watch_writes)
            with suppress(StoreBusyError, StoreFullError):  # who drives may answer all the same
                await _say(journal, stop_)
            while True:
                heard = anyio.Event()
                for record in await journal.read(HELM):
                    event = record.event
                    if isinstance(event, Halted) and event.at >= stop_.at:
                        answers[event.by] = event
                if all(engine_name(pid) in answers or is_suspended(pid) for pid in driving):
                    break
                await heard.wait()
        group.cancel_scope.cancel()


async def _say(journal: SqliteJournal, stop_: Commanded) -> None:
    """A new STOP file says it by itself: every write takes it up first. Else it is said again."""
    before = helm.fold(record.event for record in await journal.read(HELM))
    if before.hold is not Hold.STOPPED and journal.stop_file.exists():
        await journal.append()
    elif before.since is None or before.since < stop_.at:
        await journal.append(Entry(HELM, stop_))


def _end(project: Project, pid: int) -> None:
    """A process that hangs is ended: all it knows is in the journal."""
    holder = other_drivers(project).get(pid)
    if holder is not None and holder.host == socket.gethostname():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def is_suspended(pid: int) -> bool:
    """Whether a process was stopped by a signal and so can't answer."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b") ")[2][:1] in (b"T", b"t")


async def _receipt(
    project: Project,
    stop_: Commanded,
    answers: dict[str, Halted],
    silent: tuple[int, ...],
    killed: tuple[Killed, ...],
    cut: dict[RunId, RunRecord],
) -> Stopped:
    """One receipt of all who put something down; it is written too, so that it can be read later."""
    now = project.clock.now()
    states = {run: runs.fold(found.pilot, found.events) for run, found in cut.items()}
    mine = Halted(
        at=now,
        asked_at=stop_.at,
        by=f"allstop stop, process {os.getpid()}",
        took_ms=round((now - stop_.at).total_seconds() * 1000, 1),
        killed=killed,
        discarded=tuple(
            f"{run}: {describe(state.open_move.move)}"
            for run, state in states.items()
            if state.open_move is not None
        ),
        runs={run: left_as(cut[run].pilot, state, now) for run, state in states.items()},
    )
    recorded_ = True
    try:
        if (await helm_of(project)).hold is not Hold.STOPPED:
            await _say(project.journal, stop_)
        if killed or silent:
            await project.journal.append(Entry(HELM, mine))
        await stop_undriven_sessions(project, silent)
    except (StoreBrokenError, StoreBusyError, StoreFullError):
        recorded_ = False  # the STOP file still stands
    parts = (*answers.values(), mine)
    whole = Halted(
        at=mine.at,
        asked_at=mine.asked_at,
        by=stop_.by,
        took_ms=mine.took_ms,
        killed=tuple(each for part in parts for each in part.killed),
        discarded=tuple(each for part in parts for each in part.discarded),
        runs={run: where for part in parts for run, where in part.runs.items()},
    )
    filed = StopFile(project.folder / "STOP").exists()
    return Stopped(receipt=whole, silent=silent, recorded=recorded_, filed=filed)


async def lift(project: Project, by: str) -> Hold:
    """Resume: take the STOP file away and say so on the helm; what was lifted.

    Where the store can't be read or written, the file stays: a stop is lifted whole or not at all.
    """
    stop_file = StopFile(project.folder / "STOP")
    was_up = stop_file.exists()
    if not project.has_store:  # the file came first, and is all there is
        stop_file.remove()
        return Hold.STOPPED if was_up else Hold.NONE
    await helm_of(project)
    if was_up:
        await project.journal.append()  # that it was there counts, and can then be lifted
    stop_file.remove()
    try:
        held = (await helm_of(project)).hold
        if held is not Hold.NONE:
            resume = Commanded(at=project.clock.now(), command=Resume(), by=by)
            await project.journal.append(Entry(HELM, resume))
    except (StoreBrokenError, StoreBusyError, StoreFullError):
        if was_up:
            raise_stop_file(project, f"{by}, which failed")
        raise
    return Hold.STOPPED if was_up else held


def would_stop(project: Project) -> tuple[list[str], list[str]]:
    """What a stop would end: the processes that drive, and the trees of agents."""
    driving = [
        f"process {pid} ({holder.command})" for pid, holder in other_drivers(project).items()
    ]
    trees = recorded_trees(project.live) if project.live.exists() else ()
    return driving, [f"{tree.label}: process {tree.root.pid}" for tree in trees]
