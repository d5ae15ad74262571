"""Stops one run and the runs below it, and writes a receipt to its journal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING

import anyio

from allstop.adapters.processes.live_registry import kill_recorded
from allstop.app.rooms import threads
from allstop.app.runs.commands import find_open_run
from allstop.app.runs.status import RunRecord, helm_of, is_local, other_drivers, record_of
from allstop.app.stop import receipts
from allstop.app.stop.agents import agent_trees, killed_of
from allstop.core import run as runs
from allstop.core.commands import Allstop
from allstop.core.events import Halted, MoveEnded, MoveStarted
from allstop.core.ids import RunId, with_ancestors
from allstop.core.moves import CUT_BY_STOP, Failed
from allstop.engine.send import send_command
from allstop.ports import Entry, Holder, is_driven
from allstop.views.log import describe
from allstop.views.runs import view

if TYPE_CHECKING:
    from allstop.app.project import Project

ENDS_WITHIN_S = 5.0
"""The receipt waits this long for the driving process, and says what has not ended by then."""


async def stop(project: Project, name: str, by: str) -> receipts.Stopped:
    """Stop a run, a task's latest attempt, or a room.

    Raises AllstopError if there is no such run, or it is over.
    """
    run = await find_open_run(project, name)
    thread = threads.thread_of(run)
    note = ""

    async def tell() -> None:
        nonlocal note
        if thread is not None:
            note = (await threads.stop(project, thread, by)).note
        else:
            await send_command(project.journal, project.clock, run, Allstop(), by)

    halted, silent = await _stop(project, run, by, tell)
    driven = is_driven(run, project.journal.holders())
    is_here = silent is not None and is_local(silent)
    return receipts.Stopped(
        receipt=halted,
        driven=driven,
        note=note,
        silent=(silent.pid,) if silent is not None and is_here else (),
        unreached=(silent.name,) if silent is not None and not is_here else (),
    )


async def _stop(
    project: Project, run: RunId, by: str, tell: Callable[[], Awaitable[None]]
) -> tuple[Halted, Holder | None]:
    """Stop a run by `tell`, wait until none of its agents works, and write the receipt.

    Also returns the driving process if it did not answer. Its agents for this run are killed; the
    process itself stays, because it may drive other runs.
    """
    asked_at = project.clock.now()
    trees = [tree for tree in agent_trees(project) if _is_part(RunId(tree.label), run)]
    heads = await project.journal.heads() if project.has_store else []
    below = [head.run for head in heads if not head.closed]
    stopped = [run, *(each for each in below if each != run and _is_part(each, run))]
    silent: Holder | None = None
    with anyio.move_on_after(ENDS_WITHIN_S):
        silent = await _tell_and_wait(project, stopped, tell)
    records = {each: await record_of(project, each) for each in stopped}
    halted = receipts.receipt(
        project,
        by,
        asked_at,
        killed=killed_of(tuple(trees)),
        discarded=tuple(
            f"{each}: {what}"
            for each, found in records.items()
            for what in _lost(found, asked_at, silent)
        ),
        runs={each: await _where(project, each, found, silent) for each, found in records.items()},
    )
    await project.journal.append(Entry(run, halted))
    return halted, silent


async def would_stop(project: Project, name: str) -> list[str]:
    """The agents that a stop of this run would end, and the turns without a local process.

    Raises AllstopError if there is no such run, or it is over.
    """
    run = await find_open_run(project, name)
    trees = [tree for tree in agent_trees(project) if _is_part(RunId(tree.label), run)]
    shown = [f"{tree.label}: process {tree.root.pid}" for tree in trees]
    known = {RunId(tree.label) for tree in trees}
    return [*shown, *await _moves_without_tree(project, run, known)]


async def _moves_without_tree(project: Project, run: RunId, known: AbstractSet[RunId]) -> list[str]:
    """Turns of models that are called by API."""
    if not project.has_store or not is_driven(run, project.records.holders()):
        return []
    heads = await project.records.heads()
    below = [head.run for head in heads if not head.closed and _is_part(head.run, run)]
    found = {each: await record_of(project, each) for each in below if each not in known}
    moves = {each: runs.fold(it.pilot, it.events).open_move for each, it in found.items()}
    return [f"{each}: {describe(move.move)}" for each, move in moves.items() if move]


def _is_part(run: RunId, of: RunId) -> bool:
    return run == of or run.startswith(f"{of}/")


async def _tell_and_wait(
    project: Project, stopped: list[RunId], tell: Callable[[], Awaitable[None]]
) -> Holder | None:
    """The driving process, if it still has not answered once its agents were killed."""
    moves = _OpenMoves(project, stopped)

    async def have_ended() -> bool:
        if not await moves.exist():
            return True
        driver = _driver(project, stopped[0])
        return driver is not None and is_local(driver) and receipts.is_suspended(driver.pid)

    async with receipts.waiting(project) as wait:
        await tell()
        with anyio.move_on_after(receipts.ANSWER_S):
            await wait(have_ended)
        silent = _driver(project, stopped[0]) if await moves.exist() else None
        if silent is None:
            return None
        kill_recorded(project.live, wanted=lambda label: _is_part(RunId(label), stopped[0]))
        with anyio.move_on_after(ENDS_WITHIN_S - 2 * receipts.ANSWER_S):
            await wait(have_ended)
        return silent if await moves.exist() else None


def _driver(project: Project, run: RunId) -> Holder | None:
    """The other process that drives the run."""
    holders = project.journal.holders()
    holder = next((holders[each] for each in with_ancestors(run) if each in holders), None)
    return holder if holder in other_drivers(project).values() else None


class _OpenMoves:
    """Moves of these runs that a process still drives. Each record is read once."""

    def __init__(self, project: Project, runs: list[RunId]) -> None:
        self._journal = project.journal
        self._read = dict.fromkeys(runs, 0)
        self._open: set[RunId] = set()

    async def exist(self) -> bool:
        for run, after in self._read.items():
            for record in await self._journal.read(run, after=after):
                self._read[run] = record.seq
                if isinstance(record.event, MoveStarted):
                    self._open.add(run)
                elif isinstance(record.event, MoveEnded):
                    self._open.discard(run)
        holders = self._journal.holders()
        return any(is_driven(run, holders) for run in self._open)


def _lost(found: RunRecord, since: datetime, silent: Holder | None) -> Iterator[str]:
    moves = {event.id: event.move for event in found.events if isinstance(event, MoveStarted)}
    open_move = runs.fold(found.pilot, found.events).open_move
    if silent is not None and open_move is not None:
        yield describe(open_move.move)
    for event in found.events:
        match event:
            case MoveEnded(id=move, at=at, result=Failed(kind=kind)) if (
                at >= since and kind in CUT_BY_STOP
            ):
                yield describe(moves[move])
            case _:
                pass


async def _where(project: Project, run: RunId, found: RunRecord, silent: Holder | None) -> str:
    """The status of a run after the stop, in a few words."""
    state = runs.fold(found.pilot, found.events)
    driven = is_driven(run, project.journal.holders())
    now = project.clock.now()
    seen = view(run, found.kind, state, helm=await helm_of(project), now=now, driven=driven)
    if silent is not None:
        return f"stopped; {silent.name} drives it and does not answer"
    return "still ending" if state.open_move and driven else seen.status
