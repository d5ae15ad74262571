"""A thread of a room at work in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from allstop.app.rooms.threads import read, run_of, send_to_thread, start
from allstop.app.runtime import Runtime, start_runtime
from allstop.core.commands import Resume
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.room_specs import SessionSpec
from allstop.ports import HeldError

if TYPE_CHECKING:
    from allstop.app.project import Project


class RoomDriver:
    """A thread that is driven by this process."""

    def __init__(self, runtime: Runtime, thread: str) -> None:
        self.project = runtime.project
        self.thread = thread
        self.run = run_of(thread)
        self.engine = runtime.engine
        self.launcher = runtime.launcher
        self.ensure_agents = runtime.ensure_agents

    async def begin(self, spec: SessionSpec, *, instead: bool = False) -> None:
        """Everybody who may speak is there before anything is written."""
        self.ensure_agents(spec.agents)
        await start(self.project, self.thread, spec, instead=instead)
        await self._drive()

    async def resume_session(self) -> None:
        """With a session that was interrupted.

        Raises:
            AllstopError: there is none.
        """
        found = await read(self.project, self.thread)
        session = found.room.session
        if session is None:
            hint = "allstop room GOAL begins one"
            raise AllstopError(f"no session of the thread {self.thread!r} is open", hint)
        if found.helm.hold is Hold.STOPPED:
            raise AllstopError("Allstop is in force", "`allstop resume` lifts it")
        self.ensure_agents(session.spec.agents)
        if found.view.run.hold is not Hold.NONE or session.paused:
            await send_to_thread(self.project, self.thread, Resume())
        await self._drive()

    async def _drive(self) -> None:
        if self.engine.state(self.run) is None:
            await self.engine.take(self.run)


@asynccontextmanager
async def room_driver(project: Project, thread: str) -> AsyncIterator[RoomDriver]:
    """An engine for one thread, for as long as the block lasts.

    Raises:
        HeldError: another process drives it.
    """
    run = run_of(thread)
    holders = project.journal.holders()
    if run in holders:
        raise HeldError(run, holders[run])
    async with start_runtime(project) as runtime:
        yield RoomDriver(runtime, thread)
