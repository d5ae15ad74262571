"""Full Auto threads as the app starts and drives them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from allstop.app.auto import threads
from allstop.app.board import board_spec
from allstop.app.start_requests import StartAuto
from allstop.app.supervisor import RunKind, Supervisor
from allstop.auto.state import AutoSpec
from allstop.core.events import Opened
from allstop.core.ids import AgentName, RunId

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.core.brakes import Limits


class AutoRunKind(RunKind):
    request = StartAuto

    async def open(self, supervisor: Supervisor, request: StartAuto) -> RunId:
        thread = await threads.prepare_thread(
            supervisor.project,
            request.goal,
            agent=request.agent,
            policy=request.policy,
            approvals=request.approvals,
            attended=True,  # a person can answer on the page
        )
        supervisor.ensure_agents(thread.agents)
        return await thread.open(supervisor.engine)

    def agents(self, opened: Opened) -> Iterable[AgentName]:
        return threads.agents_of(msgspec.convert(opened.spec, AutoSpec))

    def limits(self, project: Project) -> Limits:
        return board_spec.thread_limits(project)
