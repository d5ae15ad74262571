"""The receipt of a stop, and the wait for the processes that drive the stopped runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
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

ANSWER_S = 1.0
"""A driving process has this long to end its agents; then this process ends them."""


class Stopped(Struct, frozen=True, kw_only=True):
    """The result of a stop."""

    receipt: Halted
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
    )


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
