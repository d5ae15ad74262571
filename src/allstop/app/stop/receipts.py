"""The receipt of a stop, and the wait for the processes that drive the stopped runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from allstop.core.events import Halted, Killed

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.core.ids import RunId
    from allstop.ports import Holder

ANSWER_S = 1.0
"""A driving process has this long to end its agents; then this process ends them."""


class MachineStop(Struct, frozen=True, kw_only=True):
    """What a stop did on one machine of a fleet."""

    machine: str
    processes: tuple[str, ...]  # that drive runs there
    answered: bool  # whether all of these have said that their agents ended
    killed: tuple[Killed, ...] = ()
    discarded: tuple[str, ...] = ()


class Stopped(Struct, frozen=True, kw_only=True):
    """The result of a stop."""

    receipt: Halted
    machines: tuple[MachineStop, ...] = ()  # on a store that several machines share
    silent: tuple[int, ...] = ()  # driving processes that did not answer
    unreached: tuple[str, ...] = ()  # the same on other machines, which end their agents themselves
    recorded: bool = True  # in the journal
    filed: bool = True  # the STOP file exists, if the stop was for everything
    driven: bool = False  # a process still drives the run
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether something keeps runs from starting again."""
        return self.recorded or self.filed


def receipt(
    project: Project,
    by: str,
    asked_at: datetime,
    killed: tuple[Killed, ...],
    discarded: tuple[str, ...],
    runs: dict[RunId, str],
    unanswered: tuple[str, ...] = (),
) -> Halted:
    now = project.clock.now()
    return Halted(
        at=now,
        asked_at=asked_at,
        by=by,
        took_ms=round((now - asked_at).total_seconds() * 1000, 1),
        killed=killed,
        discarded=discarded,
        runs=runs,
        unanswered=unanswered,
    )


def by_machine(
    driving: Iterable[Holder], answers: Mapping[str, Halted], own: tuple[Holder, Halted]
) -> tuple[MachineStop, ...]:
    """What the stop did on each machine, by the receipts of its processes.

    `own` is this process, which kills agents of its machine; it needn't be one that drives runs.
    """
    here, mine = own
    machines = sorted({(each.host, each.world) for each in (*driving, here)})
    found = []
    for host, world in machines:
        names = [each.name for each in driving if (each.host, each.world) == (host, world)]
        parts = [answers[name] for name in names if name in answers]
        if (host, world) == (here.host, here.world):
            parts.append(mine)
        if names or any(part.killed for part in parts):
            found.append(
                MachineStop(
                    machine=host,
                    processes=tuple(names),
                    answered=answers.keys() >= set(names),
                    killed=tuple(dict.fromkeys(each for part in parts for each in part.killed)),
                    discarded=tuple(each for part in parts for each in part.discarded),
                )
            )
    return tuple(found)


def is_suspended(pid: int | None) -> bool:
    """Whether a signal has suspended the process, so that it can't answer."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b") ")[2][:1] in (b"T", b"t")


Wait = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]
"""Returns once a condition holds; the condition is checked after each write to the journal."""


@asynccontextmanager
async def waiting(project: Project, only: RunId | None = None) -> AsyncIterator[Wait]:
    """Listens to the journal, or to one run's, so that no write is missed between two waits."""
    journal = project.journal
    heard = anyio.Event()

    def on_write(run: RunId, seq: int) -> None:
        if only in (None, run):
            heard.set()

    async def wait(condition: Callable[[], Awaitable[bool]]) -> None:
        nonlocal heard
        while True:
            heard = anyio.Event()
            if await condition():
                return
            await heard.wait()

    async with anyio.create_task_group() as group:
        with journal.listen(on_write):
            group.start_soon(journal.watch_writes)
            yield wait
        group.cancel_scope.cancel()
