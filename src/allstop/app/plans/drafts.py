"""Drafts: runs in which an agent writes a plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from allstop.app import runtime, target_gate
from allstop.app.agents.registry import task_agents
from allstop.app.board import board_spec
from allstop.app.runs import budget_limits
from allstop.app.runs.names import open_under_free_name
from allstop.app.runs.status import record_of
from allstop.core import run as runs
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName, RunId
from allstop.core.text import one_line
from allstop.plans.draft import DraftSpec
from allstop.plans.draft_pilot import DraftPilot
from allstop.settings.agent_order import fallbacks
from allstop.views.drafts import DraftView, draft_view

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.engine.local import LocalEngine

PILOT = DraftPilot()


class NewDraft(NamedTuple):
    """A draft that is ready to open; `open` chooses the name of its run."""

    agents: tuple[AgentName, ...]
    open: Callable[[LocalEngine], Awaitable[RunId]]


def prepare_draft(
    project: Project, goal: str, *, agent: str | None = None, asks: bool, attended: bool
) -> NewDraft:
    """Prepare a run in which an agent writes a plan; with `asks` it may ask a person.

    Raises AllstopError if the goal is empty, or the settings don't allow such a run.
    """
    goal = project.secrets.redact_certain(goal.strip())  # not in a command, so redacted here
    if not goal:
        raise AllstopError("the goal is empty", "say what the plan is for", code="prompt_empty")
    settings = project.settings
    agents = _agents(project, agent)
    spec = DraftSpec(
        goal=goal,
        name="",
        target=runtime.target(project),
        agents=agents,
        terms={name: board_spec.agent_terms(project, settings.agents[name]) for name in agents},
        asks=asks,
        ask_s=float(settings.auto.approval_timeout_s) if attended else 0.0,
        backoff=board_spec.backoff(project),
        patience=board_spec.limit_patience(project),
        gate=target_gate.gate(settings),
    )
    limits = budget_limits.run_limits(project)

    def open_(engine: LocalEngine) -> Awaitable[RunId]:
        def by(run: RunId) -> Awaitable[bool]:
            terms = msgspec.to_builtins(replace(spec, name=run))
            return engine.open(run, PILOT.kind, terms, title=one_line(goal, 80), limits=limits)

        return open_under_free_name(project, PILOT.kind, by)

    return NewDraft(agents, open_)


def _agents(project: Project, name: str | None) -> tuple[AgentName, ...]:
    """The named agent, or the first one for tasks; then those that replace it."""
    if name is None:
        return task_agents(project)
    others = tuple(map(AgentName, fallbacks(project.settings)))
    return tuple(dict.fromkeys([*task_agents(project, name), *others]))


async def draft_of(project: Project, run: str) -> DraftView:
    """Raises AllstopError if there is no such run, or it is of another kind."""
    recorded = await record_of(project, run)
    if recorded.opened.kind != PILOT.kind:
        message = f"{run} is a {recorded.opened.kind}"
        raise AllstopError(
            message, 'name a draft, or start one: allstop plan new "GOAL"', code="not_a_draft"
        )
    return draft_view(recorded.run, runs.fold(PILOT, recorded.events))
