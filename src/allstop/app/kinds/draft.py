"""Drafts as the app starts and drives them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from allstop.app.plans import drafts
from allstop.app.runs import budget_limits
from allstop.app.start_requests import StartDraft
from allstop.app.supervisor import RunKind, Supervisor
from allstop.core.commands import Retry, Skip
from allstop.core.events import Opened
from allstop.core.ids import AgentName, RunId
from allstop.plans.draft import DraftSpec

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.core.brakes import Limits


class DraftRunKind(RunKind):
    request = StartDraft
    commands = (Retry, Skip)

    async def open(self, supervisor: Supervisor, request: StartDraft) -> RunId:
        draft = drafts.prepare_draft(
            supervisor.project,
            request.goal,
            agent=request.agent,
            asks=request.asks,
            attended=True,  # a person can answer on the page
        )
        supervisor.ensure_agents(draft.agents)
        return await draft.open(supervisor.engine)

    def agents(self, opened: Opened) -> Iterable[AgentName]:
        return msgspec.convert(opened.spec, DraftSpec).agents

    def limits(self, project: Project) -> Limits:
        return budget_limits.run_limits(project)
