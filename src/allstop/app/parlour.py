"""A thread of a room at work in this process."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from allstop.adapters.processes.probe import make_launcher
from allstop.app import crew
from allstop.app.rooms import read, run_of, start, tell
from allstop.app.work import engine_name
from allstop.core.commands import Resume
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.ids import AgentName
from allstop.core.talk import SessionSpec
from allstop.engines.local import LocalEngine
from allstop.loop.hands import Hands
from allstop.pilots import PILOTS
from allstop.ports import Agent as AgentPort
from allstop.ports import HeldError, Launcher

if TYPE_CHECKING:
    from allstop.app.house import House


class Parlour:
    """A thread that is driven by this process."""

    def __init__(
        self, house: House, thread: str, engine: LocalEngine, agents: dict[AgentName, AgentPort],
        launcher: Launcher,
    ) -> None:  # fmt: skip
        self.house = house
        self.thread = thread
        self.run = run_of(thread)
        self.engine = engine
        self._agents = agents
        self._launcher = launcher

    async def begin(self, spec: SessionSpec, *, instead: bool = False) -> None:
        """Everybody who may speak is there before anything is written."""
        self.hire(spec.agents)
        await start(self.house, self.thread, spec, instead=instead)
        if self.engine.state(self.run) is None:
            await self.engine.take(self.run)

    async def go_on(self) -> None:
        """With a session that was interrupted.

        Raises:
            AllstopError: there is none.
        """
        found = await read(self.house, self.thread)
        session = found.room.session
        if session is None:
            hint = "allstop room GOAL begins one"
            raise AllstopError(f"no session of the thread {self.thread!r} is open", hint)
        if found.helm.hold is Hold.STOPPED:
            raise AllstopError("Allstop is in force", "`allstop resume` lifts it")
        self.hire(session.spec.agents)
        if found.view.run.hold is not Hold.NONE:
            await tell(self.house, self.thread, Resume())
        await self.engine.take(self.run)

    def hire(self, names: Sequence[AgentName]) -> None:
        new = tuple(name for name in names if name not in self._agents)
        self._agents.update(crew.hire(self.house, self._launcher, new))


@asynccontextmanager
async def parlour(house: House, thread: str) -> AsyncIterator[Parlour]:
    """An engine for one thread, for as long as the block lasts.

    Raises:
        HeldError: another process drives it.
    """
    run = run_of(thread)
    holders = house.journal.holders()
    if run in holders:
        raise HeldError(run, holders[run])
    launcher = await make_launcher(house.settings.sandbox.mode.value, house.live)
    agents: dict[AgentName, AgentPort] = {}
    engine = LocalEngine(
        journal=house.journal,
        hands=Hands(agents, launcher=launcher),
        clock=house.clock,
        pilots=PILOTS,
        launcher=launcher,
        name=engine_name(os.getpid()),
    )
    try:
        async with engine.serving():
            yield Parlour(house, thread, engine, agents, launcher)
    finally:
        for agent in agents.values():
            await agent.close()
