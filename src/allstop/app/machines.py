"""The machines of a fleet: the processes that work on the board, and their drain."""

from __future__ import annotations

import os
import socket
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from allstop.app.fleet.worker_needs import is_unclaimed
from allstop.app.project import SQLITE
from allstop.core.errors import AllstopError, NotFoundError
from allstop.core.ids import BOARD, RunId, label_of, with_ancestors
from allstop.ports import StoreTroubleError
from allstop.views.machines import MachineProcess, ProcessRow, Work, is_shown, process_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from allstop.adapters.journals.postgres import PostgresJournal
    from allstop.app.live_runs import LiveRuns
    from allstop.app.project import Project
    from allstop.ports import Holder


CLOCK_S = 5.0
"""How much the clocks of two machines may differ."""


def server_journal(project: Project) -> PostgresJournal:
    """The journal, if it is on a server.

    Raises AllstopError if it is a file of this machine.
    """
    from allstop.adapters.journals.postgres import PostgresJournal
    from allstop.app.fleet.tables import require_server

    require_server(project)
    assert isinstance(project.journal, PostgresJournal)
    return project.journal


async def introduce(project: Project, role: str, **facts: object) -> None:
    """Tell a store of several machines what this process is; the facts are those of `Facts`."""
    if project.store_url != SQLITE:
        with suppress(StoreTroubleError):  # the next heartbeat tells it
            await server_journal(project).set_about({"role": role, **facts})


async def clock_warning(project: Project) -> str:
    """What is wrong with this machine's clock, by that of the store; "" if nothing is."""
    ahead_s = await server_journal(project).clock_ahead_s(project.clock)
    if abs(ahead_s) < CLOCK_S:
        return ""
    side = "ahead of" if ahead_s > 0 else "behind"
    return (
        f"{abs(ahead_s):,.0f} seconds {side} the database's: limits on time, and times in logs, are"
        " wrong by that"
    )


class Machine(Struct, frozen=True, kw_only=True):
    name: str
    processes: list[MachineProcess]


async def machines(project: Project, live_runs: LiveRuns) -> list[Machine]:
    """The machines with the processes that work on the board; this one is always there."""
    by_host: dict[str, list[MachineProcess]] = {}
    for host, process in await _processes(project, live_runs):
        by_host.setdefault(host, []).append(process)
    by_host.setdefault(socket.gethostname(), [])
    return [Machine(name=host, processes=found) for host, found in by_host.items()]


async def waiting_runs(project: Project, live_runs: LiveRuns) -> list[Work]:
    """The runs that no worker has taken yet, with what they wait for."""
    holders = live_runs.holders()
    heads = [head for head in live_runs.heads if not head.closed]
    runs = [head.run for head in heads if is_unclaimed(project, head.run, holders)]
    return list((await _described(live_runs, runs)).values())


async def _work(project: Project, live_runs: LiveRuns) -> dict[RunId, Work]:
    """The runs that a process drives, without boards."""
    holders = live_runs.holders()
    driven = [
        head.run
        for head in live_runs.heads
        if not head.closed
        and head.run != BOARD
        and live_runs.is_driven(head.run)
        and not is_unclaimed(project, head.run, holders)
    ]
    return await _described(live_runs, driven)


async def _described(live_runs: LiveRuns, runs: Iterable[RunId]) -> dict[RunId, Work]:
    views = [await live_runs.view(run) for run in runs]
    return {
        view.id: Work(
            run=view.id,
            label=label_of(view.id),
            title=view.title,
            doing=view.reason or view.status,
            since=view.opened_at,
        )
        for view in views
    }


async def _processes(project: Project, live_runs: LiveRuns) -> list[tuple[str, MachineProcess]]:
    """Each process with its host."""
    from allstop.adapters.journals.postgres_reader import PostgresRecords

    holders = live_runs.holders()
    done = _by_holder(holders, await _work(project, live_runs))
    records = project.records
    if not isinstance(records, PostgresRecords):
        return list(_of_this_machine(holders, done))
    rows = await records.processes()
    claimed = _claimed(holders)
    own = getattr(records, "own", None)
    return [
        (
            row.host,
            process_view(
                row,
                claimed[row.id],
                done[row.id],
                here=own is not None and row.id == own.process,
            ),
        )
        for row in rows
        if is_shown(row, claimed[row.id])
    ]


def _key(holder: Holder) -> str:
    return holder.process or str(holder.pid)


def _claimed(holders: Mapping[RunId, Holder | None]) -> Mapping[str, list[RunId]]:
    found: Mapping[str, list[RunId]] = defaultdict(list)
    for run, holder in holders.items():
        if holder is not None:
            found[_key(holder)].append(run)
    return found


def _by_holder(
    holders: Mapping[RunId, Holder | None], work: Mapping[RunId, Work]
) -> Mapping[str, list[Work]]:
    """Work by the process that has claimed it, or the nearest run above it."""
    found: Mapping[str, list[Work]] = defaultdict(list)
    for run, each in work.items():
        above = (holders[one] for one in with_ancestors(run) if one in holders)
        if (holder := next(above, None)) is not None:
            found[_key(holder)].append(each)
    return found


def _of_this_machine(
    holders: Mapping[RunId, Holder | None], work: Mapping[str, list[Work]]
) -> Iterable[tuple[str, MachineProcess]]:
    """The processes that drive runs of a journal in a file."""
    host = socket.gethostname()
    by_process = {_key(holder): holder for holder in holders.values() if holder is not None}
    for key, claimed in _claimed(holders).items():
        holder = by_process[key]
        here = holder.pid == os.getpid() and holder.host == host
        yield (
            holder.host,
            MachineProcess(
                pid=holder.pid,
                command=holder.command,
                since=holder.since,
                runs=claimed,
                here=here,
                work=tuple(work[key]),
            ),
        )


async def drain(project: Project, name: str, by: str) -> ProcessRow:
    """Ask a worker to finish what it does and to take no more; by nobody: to take work again.

    `name` is that of the worker, its host if that has only one, or the process's id.

    Raises NotFoundError if no worker has this name, and AllstopError if several have.
    """
    journal = server_journal(project)
    rows = [row for row in await journal.processes() if is_shown(row, [])]
    found = [row for row in rows if name in (row.worker, row.id)]
    found = found or [row for row in rows if name == row.host]
    if not found:
        raise NotFoundError(
            f"no worker is named {name}",
            "`allstop fleet status` lists them",
            code="worker_unknown",
        )
    if len(found) > 1:
        raise AllstopError(
            f"{len(found)} workers are named {name}",
            "name the id of one: " + ", ".join(row.id for row in found),
            code="worker_ambiguous",
        )
    await journal.drain(found[0].id, by)
    return found[0]
