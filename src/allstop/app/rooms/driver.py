"""Driver of a room's thread in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from allstop.app.rooms.threads import (
    read,
    run_of,
    send_to_thread,
    start,
    stop_undriven_sessions,
)
from allstop.app.runs.commands import allstop_in_force
from allstop.app.runtime import Runtime, start_runtime
from allstop.core.commands import Resume
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.room_specs import SessionSpec
from allstop.ports import HeldError

if TYPE_CHECKING:
    from allstop.app.project import Project


class RoomDriver:
    """Starts and resumes the sessions of one thread."""

    def __init__(self, runtime: Runtime, thread: str) -> None:
        self.project = runtime.project
        self.thread = thread
        self.run = run_of(thread)
        self.engine = runtime.engine
        self.launcher = runtime.launcher
        self.ensure_agents = runtime.ensure_agents

    async def begin(self, spec: SessionSpec, *, instead: bool = False) -> None:
        """Start a session, once its agents are known to be usable."""
        self.ensure_agents(spec.agents)
        await start(self.project, self.thread, spec, instead=instead)
        await self._drive()

    async def resume_session(self) -> None:
        """Continue the interrupted session.

        Raises AllstopError if there is none, or an Allstop is in force.
        """
        await stop_undriven_sessions(self.project)
        found = await read(self.project, self.thread)
        session = found.room.session
        if session is None:
            message = f"the thread {self.thread!r} has no open session"
            raise AllstopError(message, "`allstop room GOAL` starts one", code="no_open_session")
        if found.helm.hold is Hold.STOPPED:
            raise allstop_in_force()
        self.ensure_agents(session.spec.agents)
        if found.view.run.hold is not Hold.NONE or session.paused:
            await send_to_thread(self.project, self.thread, Resume())
        await self._drive()

    async def _drive(self) -> None:
        if self.engine.state(self.run) is None:
            await self.engine.take(self.run)


@asynccontextmanager
async def room_driver(project: Project, thread: str) -> AsyncIterator[RoomDriver]:
    """Run an engine for one thread until the block ends.

    Raises HeldError if another process drives it.
    """
    run = run_of(thread)
    holders = project.journal.holders()
    if run in holders:
        raise HeldError(run, holders[run])
    async with start_runtime(project) as runtime:
        yield RoomDriver(runtime, thread)
