"""Runs of plans: their spec, starting them, and reading them."""

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
from allstop.app.runs.status import helm_of, record_of
from allstop.app.start_requests import PlanOptions
from allstop.core import run as runs
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName, RunId
from allstop.core.text import counted
from allstop.plans.pilot import EDITION, PlanPilot
from allstop.plans.plan import Plan
from allstop.plans.plan_file import read_plan
from allstop.plans.plan_status import Status
from allstop.plans.state import PHASE_TOKENS, ErrorStrategy, PlanMode, PlanSpec
from allstop.settings.agent_order import fallbacks
from allstop.views.plans import PlanView, plan_view

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.runs.status import RunRecord
    from allstop.engine.local import LocalEngine

PILOT = PlanPilot()
NAMED = 10
"""So many problems are named when a plan can't be started."""


class NewPlan(NamedTuple):
    """A plan that is ready to open; `open` chooses the name of its run."""

    agents: tuple[AgentName, ...]
    open: Callable[[LocalEngine], Awaitable[RunId]]


def prepare_plan(
    project: Project,
    name: str,
    data: bytes,
    *,
    mode: PlanMode = PlanMode.AUTOPILOT,
    options: PlanOptions = PlanOptions(),  # noqa: B008 - frozen
    attended: bool,
    may_change: tuple[str, ...] = (),
) -> NewPlan:
    """Read a plan's file and prepare its run. `name` is the file's.

    `may_change` is never read from the file, which an agent may have written.
    Raises AllstopError if the plan has problems, or the settings don't allow such a run.
    """
    plan = _read(project, name, data)
    spec = plan_spec(project, plan, mode=mode, options=options, attended=attended)
    plan_id = name.rpartition("/")[2].partition(".")[0]
    title = (plan.title or plan_id or "plan")[:80]
    limits = budget_limits.run_limits(project)

    def open_(engine: LocalEngine) -> Awaitable[RunId]:
        def by(run: RunId) -> Awaitable[bool]:
            named = replace(spec, name=run, plan_id=plan_id, may_change=may_change)
            terms = msgspec.to_builtins(named)
            return engine.open(run, PILOT.kind, terms, title=title, limits=limits)

        return open_under_free_name(project, PILOT.kind, by)

    return NewPlan(spec.agents, open_)


def _read(project: Project, name: str, data: bytes) -> Plan:
    found = read_plan(name, data)
    if not found.problems:
        # not in a command, so redacted here
        text = project.secrets.redact_certain(data.decode("utf-8-sig"))
        return read_plan(name, text.encode()).plan
    lines = [f"{name}:{each.line}: {each}" for each in found.problems[:NAMED]]
    left = len(found.problems) - len(lines)
    more = [f"… and {counted(left, 'more problem')}"] if left else []
    hint = "`allstop plan check FILE` shows what was understood"
    raise AllstopError("\n".join([*lines, *more]), hint, code="plan_invalid")


def plan_spec(
    project: Project, plan: Plan, *, mode: PlanMode, options: PlanOptions, attended: bool
) -> PlanSpec:
    """The spec of a plan's run by the options and the settings, without the run's name.

    Raises AllstopError if the settings lack an agent, a branch or a required check.
    """
    settings = project.settings
    retry = settings.retry
    agents = _agents(project, options)
    backoff, patience = board_spec.backoff(project), board_spec.limit_patience(project)
    if options.max_retries is not None:
        backoff = replace(backoff, retries=options.max_retries)
    if options.retry_base_ms is not None:
        backoff = replace(backoff, first_s=options.retry_base_ms / 1000)
    if options.max_rate_limit_retries is not None:
        patience = replace(patience, guesses=options.max_rate_limit_retries)
    compact_at = settings.loop.compact_at_tokens
    delay_ms = retry.step_delay_ms if options.step_delay is None else options.step_delay
    return PlanSpec(
        plan=plan,
        name="",
        target=runtime.target(project),
        agents=agents,
        terms={name: board_spec.agent_terms(project, settings.agents[name]) for name in agents},
        mode=mode,
        on_error=options.error_strategy or ErrorStrategy(retry.error_strategy.value),
        backoff=backoff,
        patience=patience,
        step_delay_s=delay_ms / 1000,
        ask_s=float(settings.auto.approval_timeout_s) if attended else 0.0,
        gate=target_gate.gate(settings),
        merge=settings.merge.enabled,
        compact_at=compact_at or None,
        phases_compact_at=None if compact_at == 0 else PHASE_TOKENS,
        auto_commit=retry.auto_commit if options.auto_commit is None else options.auto_commit,
        edition=EDITION,
    )


def _agents(project: Project, options: PlanOptions) -> tuple[AgentName, ...]:
    """The agents of a plan, in order of preference."""
    if options.primary_agent is None and options.fallback_agent is None:
        return task_agents(project)
    first = task_agents(project, options.primary_agent)[:1]
    if options.fallback_agent is not None:
        others = task_agents(project, options.fallback_agent)
    else:
        others = tuple(map(AgentName, fallbacks(project.settings)))
    return tuple(dict.fromkeys([*first, *others]))


async def plan_record(project: Project, run: str) -> RunRecord:
    """Raises AllstopError if there is no such run, or it is of another kind."""
    recorded = await record_of(project, run)
    if recorded.opened.kind != PILOT.kind:
        raise AllstopError(
            f"{run} is a {recorded.opened.kind}",
            "`allstop plan list` shows the plans",
            code="not_a_plan",
        )
    return recorded


async def view_of(project: Project, run: str) -> PlanView:
    """Raises AllstopError if there is no such run, or it is of another kind."""
    recorded = await plan_record(project, run)
    state = runs.fold(PILOT, recorded.events)
    return plan_view(recorded.run, state, await helm_of(project), project.clock.now())


async def interrupted_views(project: Project) -> list[PlanView]:
    """The plans that would go on by themselves, but their process died; the oldest first."""
    found = [view for view in await all_views(project) if _goes_on(view)]
    held = project.journal.holders() if found else {}
    return [view for view in found if view.session_id not in held]


def _goes_on(view: PlanView) -> bool:
    """Whether it works, or waits only for a time; not if it waits for a person."""
    if view.outcome is not None:
        return False
    return view.status != Status.PAUSED or view.resumes_at is not None


async def interrupted_view(project: Project) -> PlanView:
    """Raises AllstopError unless exactly one plan was interrupted."""
    found = await interrupted_views(project)
    if len(found) == 1:
        return found[0]
    names = ", ".join(view.session_id for view in found)
    problem = f"several plans were interrupted: {names}" if found else "no plan was interrupted"
    hint = "name one: `allstop plan resume RUN`" if found else "`allstop plan list` shows the plans"
    raise AllstopError(problem, hint, code="plan_not_named" if found else "no_interrupted_plan")


async def all_views(project: Project) -> list[PlanView]:
    """All plans of the project, the oldest first."""
    heads = await project.journal.heads() if project.has_store else []
    names = [head.run for head in heads if head.kind == PILOT.kind]
    views = [await view_of(project, name) for name in names]
    return sorted(views, key=lambda view: view.started_at)
