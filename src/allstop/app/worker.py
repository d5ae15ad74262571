"""A worker: a process that does the work of a board which another machine drives."""

from __future__ import annotations

import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

import anyio

from allstop.app.fleet.worker_needs import named
from allstop.app.machines import clock_warning, introduce, server_journal
from allstop.app.project import SQLITE
from allstop.app.runtime import Runtime, start_runtime
from allstop.core.errors import AllstopError
from allstop.core.helm import STOPPED
from allstop.core.ids import BOARD, RunId
from allstop.engine.worker import WorkerEngine
from allstop.ports import StoreTroubleError
from allstop.views.machines import WORKER

if TYPE_CHECKING:
    from allstop.app.fleet.membership import WorkerPlan
    from allstop.app.project import Project

DRAIN_LOOK_S = 0.5

Note = Callable[[str], None]


def require_fleet(project: Project) -> None:
    """Raises AllstopError if the settings name no store on a server, or no shared remote."""
    _ = project.repository  # raises if there is none
    if project.store_url == SQLITE:
        raise AllstopError(
            "a worker needs a store that other machines can reach",
            "set ALLSTOP_STORE_URL or [store] url to the address of a PostgreSQL database",
            code="store_not_shared",
        )
    if not project.shared_remote:
        raise AllstopError(
            "no shared remote is configured",
            'set [fleet] remote = "origin" in your own settings',
            code="remote_not_set",
        )


@asynccontextmanager
async def start_worker(
    project: Project, plan: WorkerPlan, name: str = "", note: Note = lambda line: None
) -> AsyncIterator[WorkerEngine]:
    """Take runs until the block ends; then other workers can take them over."""
    require_fleet(project)
    project.worker = name or socket.gethostname()
    async with start_runtime(project, slots=plan.slots, note=note, plan=plan) as runtime:
        engine = engine_of(runtime)
        offers = {offer for lane in engine.lanes for offer in lane.offers}
        labels, agents = (named(offers, what) for what in ("label", "agent"))
        await introduce(project, WORKER, slots=plan.slots, labels=labels, agents=agents)
        yield engine


def engine_of(runtime: Runtime) -> WorkerEngine:
    assert isinstance(runtime.engine, WorkerEngine), "it was started with a plan"
    return runtime.engine


async def work(project: Project, plan: WorkerPlan, name: str, note: Note) -> None:
    """Work until the worker is drained, or a signal ends it.

    SIGTERM drains it: it finishes what it does. SIGINT ends it at once, and so does a second signal.
    """
    async with start_worker(project, plan, name, note) as engine:
        engine.view(
            lambda run, live: note(f"{run} {live.text}") if live.kind == "trouble" else None
        )
        engine.tell_of = lambda run, what: note(line_of(project.clock.now(), run, what))
        note(describe(engine, project.worker))
        if engine.helm.hold is STOPPED:
            note("Allstop is in force: it takes no work until `allstop resume`.")
        with suppress(StoreTroubleError):
            if warning := await clock_warning(project):
                note(f"This machine's clock is {warning}.")
        async with anyio.create_task_group() as group:
            group.start_soon(_end_by_signal, engine, note, group.cancel_scope)
            group.start_soon(_follow_drain, project, engine, note)
            await engine.drained()
            note("The worker has finished its work.")
            group.cancel_scope.cancel()
    note("The worker has ended. Others can take over its runs.")


async def _end_by_signal(engine: WorkerEngine, note: Note, scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            if number == signal.SIGINT or engine.drains:
                scope.cancel()
                return
            note("The worker finishes its work and takes no more. A second signal ends it at once.")
            engine.drain()


async def _follow_drain(project: Project, engine: WorkerEngine, note: Note) -> None:
    """Drain the worker while somebody wants that, as the store knows it."""
    journal, known = server_journal(project), ""
    while True:
        if (by := journal.drained_by) != known:
            known = by
            note(f"{by} drains the worker." if by else "The worker takes work again.")
            engine.drain(on=bool(by))
        await anyio.sleep(DRAIN_LOOK_S)


def line_of(at: datetime, run: RunId, what: str) -> str:
    """What happens to a run, as a line of the worker's log."""
    return f"{at.astimezone():%H:%M:%S}  {run.removeprefix(f'{BOARD}/'):<8} {what}"


def describe(engine: WorkerEngine, name: str) -> str:
    """What the worker takes, in one line."""
    (tasks,) = (lane for lane in engine.lanes if lane.kind == "task")
    offers = [each for each in sorted(tasks.offers) if not each.startswith("kind ")]
    slots = "1 slot" if tasks.slots == 1 else f"{tasks.slots} slots"
    return (
        f"Worker {name} has {slots} and offers: {', '.join(offers) or 'no agent'}. Ctrl-C ends it."
    )
