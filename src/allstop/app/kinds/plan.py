"""Plans as the app starts and drives them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from allstop.app.plans import runs
from allstop.app.runs import budget_limits
from allstop.app.start_requests import StartPlan
from allstop.app.supervisor import RunKind, Supervisor
from allstop.core.commands import Approve, Retry, Skip
from allstop.core.events import Opened
from allstop.core.ids import AgentName, RunId
from allstop.plans.plan_file import ending_of
from allstop.plans.state import PlanSpec

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.core.brakes import Limits


class PlanRunKind(RunKind):
    request = StartPlan
    commands = (Approve, Retry, Skip)

    async def open(self, supervisor: Supervisor, request: StartPlan) -> RunId:
        plan = runs.prepare_plan(
            supervisor.project,
            f"{request.name}.{ending_of(request.format)}",
            request.plan.encode(errors="replace"),
            mode=request.mode,
            options=request.config,
            attended=True,  # a person can answer on the page
            may_change=request.may_change,
        )
        supervisor.ensure_agents(plan.agents)
        return await plan.open(supervisor.engine)

    def agents(self, opened: Opened) -> Iterable[AgentName]:
        return msgspec.convert(opened.spec, PlanSpec).agents

    def limits(self, project: Project) -> Limits:
        return budget_limits.run_limits(project)
