"""Stops everything from any process, also while the driving process hangs; and lifts that stop."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from msgspec.structs import replace

from allstop.adapters.journals.stop_file import StopFile
from allstop.adapters.processes.live_registry import kill_recorded
from allstop.app.project import SQLITE
from allstop.app.runs.status import (
    RunRecord,
    helm_of,
    is_local,
    other_drivers,
    other_workers,
    record_of,
)
from allstop.app.stop import receipts
from allstop.app.stop.agents import (
    KilledAgents,
    agent_trees,
    create_stop_file,
    kill_agents,
)
from allstop.core import helm
from allstop.core import run as runs
from allstop.core.commands import Allstop, Resume
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded, Event, Halted, Killed
from allstop.core.helm import Hold
from allstop.core.ids import HELM, RunId, with_ancestors
from allstop.ports import (
    Entry,
    Holder,
    StoreBrokenError,
    StoreTroubleError,
    StoreUnreachableError,
)
from allstop.views.log import describe, state_after_stop

if TYPE_CHECKING:
    from datetime import datetime

    from allstop.app.project import Project, ProjectJournal

STORE_FAILS = (StoreBrokenError, StoreTroubleError)
GONE_S = 2.0


async def stop(
    project: Project,
    by: str,
    agents: KilledAgents | None = None,
    asked_at: datetime | None = None,
) -> receipts.Stopped:
    """Kill the agents, write the command, wait for the driving processes, and end the rest.

    The STOP file comes first: it precedes every later write, so no result of a killed agent counts.
    `agents` are those that the caller has already killed after it created the file.
    """
    agents = agents or kill_agents(project, by)
    command = Commanded(at=agents.at, command=Allstop(), by=by)
    answers: dict[str, Halted] = {}
    driving: dict[str, Holder] = {}
    is_reachable = True
    try:
        driving = other_drivers(project) | other_workers(project)
        with anyio.move_on_after(receipts.ANSWER_S):
            await _tell_and_wait(project, command, driving, answers)
    except* STORE_FAILS as failed:  # the STOP file holds; this process ends the agents
        is_reachable = failed.subgroup(StoreUnreachableError) is None
    unanswered = [holder for name, holder in driving.items() if name not in answers]
    silent = tuple(holder for holder in unanswered if is_local(holder))
    unreached = tuple(holder for holder in unanswered if not is_local(holder))
    left = kill_recorded(project.live) if project.live.exists() else ()
    killed = (*agents.killed, *left)
    cut = await _driven_by(project, silent)
    for holder in silent:
        _kill(project, holder)
    asked_at = asked_at or command.at
    mine = _own_receipt(project, asked_at, killed, cut, unreached)
    is_recorded = is_reachable and await _record(project, command, mine, silent)
    await _are_gone(project, silent)
    if is_recorded:
        remove_own_file(project)
    return receipts.Stopped(
        receipt=_whole(mine, command.by, answers),
        machines=_machines(project, driving, answers, mine),
        silent=tuple(holder.pid for holder in silent),
        unreached=tuple(holder.name for holder in unreached),
        recorded=is_recorded,
        filed=StopFile(project.folder / "STOP").exists(),
    )


def remove_own_file(project: Project) -> None:
    """On a server the helm holds all machines; the file would undo a resume on another one."""
    if project.store_url != SQLITE:
        StopFile(project.folder / "STOP").remove()


def would_stop(project: Project) -> tuple[list[str], list[str]]:
    """The driving processes and the agents that a stop would end."""
    known = other_drivers(project) | other_workers(project)
    driving = [f"{name} ({holder.command})" for name, holder in known.items()]
    return driving, [f"{tree.label}: process {tree.root.pid}" for tree in agent_trees(project)]


async def _driven_by(project: Project, silent: tuple[Holder, ...]) -> dict[RunId, RunRecord]:
    """The open runs of processes that did not answer."""
    if not silent:
        return {}
    try:
        held = {run for run, who in project.records.holders().items() if who in silent}
        heads = await project.records.heads() if held else []
        return {
            head.run: await record_of(project, head.run)
            for head in heads
            if not head.closed and not held.isdisjoint(with_ancestors(head.run))
        }
    except AllstopError:
        return {}  # the store can't be read


async def _tell_and_wait(
    project: Project, command: Commanded, driving: dict[str, Holder], answers: dict[str, Halted]
) -> None:
    journal = project.journal
    is_told = False

    async def have_answered() -> bool:
        for event in await _since_stop(journal):
            # clocks of machines differ: only the order in the journal says what is an answer
            if isinstance(event, Halted) and (is_told or event.at >= command.at):
                answers[event.by] = event
        return all(
            name in answers or (is_local(holder) and receipts.is_suspended(holder.pid))
            for name, holder in driving.items()
        )

    async with receipts.waiting(project, HELM) as wait:
        with suppress(StoreTroubleError):  # the driving process may answer anyway
            await _write(journal, command)
            is_told = True
        await wait(have_answered)


async def _since_stop(journal: ProjectJournal) -> list[Event]:
    """What was written to the helm after the latest Allstop."""
    events = [record.event for record in await journal.read(HELM)]
    stops = [at for at, event in enumerate(events) if _is_stop(event)]
    return events[stops[-1] + 1 :] if stops else []


def _is_stop(event: Event) -> bool:
    return isinstance(event, Commanded) and isinstance(event.command, Allstop)


async def _write(journal: ProjectJournal, command: Commanded) -> None:
    """Every write records a new STOP file first; an older one needs the command again."""
    before = helm.fold(record.event for record in await journal.read(HELM))
    if before.hold is not Hold.STOPPED and journal.stop_file.exists():
        await journal.append()
    elif before.since is None or before.since < command.at:
        await journal.append(Entry(HELM, command))


def _kill(project: Project, holder: Holder) -> None:
    """End a process that hangs; the journal has everything that it knew."""
    if holder in other_drivers(project).values():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(holder.pid, signal.SIGKILL)


async def _are_gone(project: Project, killed: tuple[Holder, ...]) -> None:
    """Wait until what the killed processes held is free, at most GONE_S."""
    with suppress(AllstopError), anyio.move_on_after(GONE_S):
        while any(each in killed for each in other_drivers(project).values()):  # noqa: ASYNC110 - nothing tells it
            await anyio.sleep(0.01)


def _own_receipt(
    project: Project,
    asked_at: datetime,
    killed: tuple[Killed, ...],
    cut: dict[RunId, RunRecord],
    unreached: tuple[Holder, ...],
) -> Halted:
    states = {run: runs.fold(found.pilot, found.events) for run, found in cut.items()}
    return receipts.receipt(
        project,
        f"allstop stop, process {os.getpid()}",
        asked_at,
        killed,
        tuple(
            f"{run}: {describe(state.open_move.move)}"
            for run, state in states.items()
            if state.open_move is not None
        ),
        {
            run: state_after_stop(cut[run].pilot, state, project.clock.now())
            for run, state in states.items()
        }
        | _held_by(project, unreached),
        tuple(holder.name for holder in unreached),
    )


def _held_by(project: Project, unreached: tuple[Holder, ...]) -> dict[RunId, str]:
    """The runs of processes of other machines that did not answer."""
    if not unreached:
        return {}
    try:
        held = project.records.holders()
    except AllstopError:
        return {}  # the store can't be read
    return {
        run: f"stopped; {holder.name} has not answered"
        for run, holder in held.items()
        if holder in unreached
    }


async def _record(
    project: Project, command: Commanded, mine: Halted, silent: tuple[Holder, ...]
) -> bool:
    """Write the receipt of this process, if it ended anything; False if the store takes nothing."""
    try:
        if (await helm_of(project)).hold is not Hold.STOPPED:
            await _write(project.journal, command)
        if mine.killed or mine.unanswered or silent:
            await project.journal.append(Entry(HELM, mine))
        await stop_sessions(project, silent)
    except STORE_FAILS:
        return False  # the STOP file holds
    return True


def _whole(mine: Halted, by: str, answers: dict[str, Halted]) -> Halted:
    """One receipt for all processes that ended agents."""
    parts = (*answers.values(), mine)
    return replace(
        mine,
        by=by,
        killed=tuple(dict.fromkeys(each for part in parts for each in part.killed)),
        discarded=tuple(each for part in parts for each in part.discarded),
        runs={run: where for part in parts for run, where in part.runs.items()},
    )


def _machines(
    project: Project, driving: dict[str, Holder], answers: dict[str, Halted], mine: Halted
) -> tuple[receipts.MachineStop, ...]:
    if project.store_url == SQLITE:
        return ()
    from allstop.app.store import own_process

    return receipts.by_machine(driving.values(), answers, (own_process(project), mine))


async def stop_sessions(project: Project, silent: tuple[Holder, ...] = ()) -> None:
    """End the sessions of rooms that no process drives, if an Allstop came after they began."""
    if not project.has_store:
        return
    if project.journal.stop_file.exists():
        await project.journal.append()  # records the stop
    kinds = {head.kind for head in await project.journal.heads()}
    if any(name in project.kinds and project.kinds[name].has_sessions for name in kinds):
        from allstop.app.rooms.threads import stop_undriven_sessions

        await stop_undriven_sessions(project, silent)


async def lift(project: Project, by: str) -> Hold:
    """Remove the STOP file and write a resume for everything; returns the hold that was lifted.

    If the store can't be read or written, the file stays: a stop is lifted whole or not at all.
    """
    stop_file = StopFile(project.folder / "STOP")
    was_up = stop_file.exists()
    if not project.has_store:
        stop_file.remove()
        return Hold.STOPPED if was_up else Hold.NONE
    await helm_of(project)
    await stop_sessions(project)  # also records the stop, so that it can be lifted
    stop_file.remove()
    try:
        held = (await helm_of(project)).hold
        if held is not Hold.NONE:
            resume = Commanded(at=project.clock.now(), command=Resume(), by=by)
            await project.journal.append(Entry(HELM, resume))
    except STORE_FAILS:
        if was_up:
            create_stop_file(project, f"{by}, which failed")
        raise
    return Hold.STOPPED if was_up else held
