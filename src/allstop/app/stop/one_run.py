"""Stopping one run and what is below it, with a receipt on its record as Allstop leaves one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from allstop.adapters.processes.identity import is_alive
from allstop.adapters.processes.live_registry import Record, kill_recorded, recorded_trees
from allstop.app.rooms import threads
from allstop.app.runs.commands import find_open_run
from allstop.app.runs.status import RunRecord, helm_of, other_drivers, record_of
from allstop.app.stop.allstop import ANSWER_S, is_suspended
from allstop.core import run as runs
from allstop.core.commands import Allstop
from allstop.core.events import Halted, Killed, MoveEnded, MoveStarted
from allstop.core.ids import RunId, root_of
from allstop.core.moves import CUT_BY_STOP, Failed
from allstop.engine.send import send_command
from allstop.ports import Entry
from allstop.views.log import describe
from allstop.views.runs import view

if TYPE_CHECKING:
    from allstop.app.project import Project

ENDS_WITHIN_S = 5.0
"""How long the receipt waits for whoever drives; what has not ended by then is said in it."""


class StoppedRun(Struct, frozen=True, kw_only=True):
    receipt: Halted
    driven: bool
    note: str = ""
    silent: int | None = None  # the process that drives it and did not answer


async def stop_run(project: Project, name: str, by: str) -> StoppedRun:
    """Allstop for one run, a task's latest, or a room.

    Raises:
        AllstopError: there is no such run, or it is over.
    """
    thread = threads.thread_of(RunId(name))
    run = RunId(name) if thread is not None else await find_open_run(project, name)
    note = ""

    async def tell() -> None:
        nonlocal note
        if thread is not None:
            note = (await threads.stop(project, thread, by)).note
        else:
            await send_command(project.journal, project.clock, run, Allstop(), by)

    receipt, silent = await _stop(project, run, by, tell)
    driven = root_of(run) in project.journal.holders()
    return StoppedRun(receipt=receipt, driven=driven, note=note, silent=silent)


async def _stop(
    project: Project, run: RunId, by: str, tell: Callable[[], Awaitable[None]]
) -> tuple[Halted, int | None]:
    """Stop it by `tell`, wait until nothing of it moves, and write down what that did.

    Also the process that did not answer: its agents of this run are ended from here. It is left
    alone itself, since it may drive other runs, and nothing counts that it says of this one.
    """
    asked_at = project.clock.now()
    trees = [tree for tree in _trees(project) if _is_part(RunId(tree.label), run)]
    heads = await project.journal.heads() if project.has_store else []
    below = [head.run for head in heads if not head.closed]
    stopped = [run, *(each for each in below if each != run and _is_part(each, run))]
    silent: int | None = None
    with anyio.move_on_after(ENDS_WITHIN_S):
        silent = await _tell_and_wait(project, stopped, tell)
    now = project.clock.now()
    records = {each: await record_of(project, each) for each in stopped}
    halted = Halted(
        at=now,
        asked_at=asked_at,
        by=by,
        took_ms=round((now - asked_at).total_seconds() * 1000, 1),
        killed=tuple(
            Killed(label=tree.label, pid=tree.root.pid) for tree in trees if not is_alive(tree.root)
        ),
        discarded=tuple(
            f"{each}: {what}"
            for each, found in records.items()
            for what in _lost(found, asked_at, silent)
        ),
        runs={each: await _where(project, each, found, silent) for each, found in records.items()},
    )
    await project.journal.append(Entry(run, halted))
    return halted, silent


async def would_stop_run(project: Project, name: str) -> list[str]:
    """The trees of agents that a stop of this run alone would end, and the moves without one.

    Raises:
        AllstopError: there is no such run, or it is over.
    """
    run = (
        RunId(name)
        if threads.thread_of(RunId(name)) is not None
        else await find_open_run(project, name)
    )
    trees = [tree for tree in _trees(project) if _is_part(RunId(tree.label), run)]
    shown = [f"{tree.label}: process {tree.root.pid}" for tree in trees]
    known = {RunId(tree.label) for tree in trees}
    return [*shown, *await _moves_without_tree(project, run, known)]


async def _moves_without_tree(project: Project, run: RunId, known: AbstractSet[RunId]) -> list[str]:
    """A model by API has no process here, and a stop ends its turn all the same."""
    if not project.has_store or root_of(run) not in project.records.holders():
        return []
    heads = await project.records.heads()
    below = [head.run for head in heads if not head.closed and _is_part(head.run, run)]
    found = {each: await record_of(project, each) for each in below if each not in known}
    moves = {each: runs.fold(it.pilot, it.events).open_move for each, it in found.items()}
    return [f"{each}: {describe(move.move)}" for each, move in moves.items() if move]


def _trees(project: Project) -> tuple[Record, ...]:
    return recorded_trees(project.live) if project.live.exists() else ()


def _is_part(run: RunId, of: RunId) -> bool:
    return run == of or run.startswith(f"{of}/")


async def _tell_and_wait(
    project: Project,
    stopped: list[RunId],
    tell: Callable[[], Awaitable[None]],
) -> int | None:
    """The process that did not answer, if it still has not when its agents are gone."""
    journal = project.journal
    under_way = _UnderWay(project, stopped)
    heard = anyio.Event()

    def on_write(run: RunId, seq: int) -> None:
        heard.set()

    async def ended() -> None:
        nonlocal heard
        while await under_way.are_there() and not _is_suspended(_driver(project, stopped[0])):
            await heard.wait()
            heard = anyio.Event()

    async with anyio.create_task_group() as group:
        with journal.listen(on_write):
            group.start_soon(journal.watch_writes)
            await tell()
            with anyio.move_on_after(ANSWER_S):
                await ended()
            silent = _driver(project, stopped[0]) if await under_way.are_there() else None
            if silent is not None:
                kill_recorded(project.live, wanted=lambda label: _is_part(RunId(label), stopped[0]))
                with anyio.move_on_after(ENDS_WITHIN_S - 2 * ANSWER_S):
                    await ended()
                silent = silent if await under_way.are_there() else None
        group.cancel_scope.cancel()
    return silent


def _driver(project: Project, run: RunId) -> int | None:
    """The other process that drives it."""
    holder = project.journal.holders().get(root_of(run))
    return holder.pid if holder is not None and holder.pid in other_drivers(project) else None


def _is_suspended(pid: int | None) -> bool:
    return pid is not None and is_suspended(pid)


class _UnderWay:
    """Turns and checks of these runs that somebody still drives. Each record is read once."""

    def __init__(self, project: Project, runs: list[RunId]) -> None:
        self._journal = project.journal
        self._read = dict.fromkeys(runs, 0)
        self._open: set[RunId] = set()

    async def are_there(self) -> bool:
        for run, after in self._read.items():
            for record in await self._journal.read(run, after=after):
                self._read[run] = record.seq
                if isinstance(record.event, MoveStarted):
                    self._open.add(run)
                elif isinstance(record.event, MoveEnded):
                    self._open.discard(run)
        holders = self._journal.holders()
        return any(root_of(run) in holders for run in self._open)


def _lost(found: RunRecord, since: datetime, silent: int | None) -> Iterator[str]:
    moves = {event.id: event.move for event in found.events if isinstance(event, MoveStarted)}
    open_move = runs.fold(found.pilot, found.events).open_move
    if silent is not None and open_move is not None:
        yield describe(open_move.move)  # whoever drives it will say so when it goes on
    for event in found.events:
        match event:
            case MoveEnded(id=move, at=at, result=Failed(kind=kind)) if (
                at >= since and kind in CUT_BY_STOP
            ):
                yield describe(moves[move])
            case _:
                pass


async def _where(project: Project, run: RunId, found: RunRecord, silent: int | None) -> str:
    """As people see it, in a word or two."""
    state = runs.fold(found.pilot, found.events)
    driven = root_of(run) in project.journal.holders()
    now = project.clock.now()
    seen = view(run, found.kind, state, helm=await helm_of(project), now=now, driven=driven)
    if silent is not None:
        return f"stopped; process {silent} drives it and does not answer"
    return "still ending" if state.open_move and driven else seen.status
