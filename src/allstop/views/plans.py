"""Views of plans: the state of a plan with the names of document 004, and its log."""

from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from allstop.core import run as runs
from allstop.core.events import Event, Opened
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.run import RunState
from allstop.core.text import one_line
from allstop.plans.pilot import PlanPilot
from allstop.plans.plan import Step
from allstop.plans.plan_status import status_of
from allstop.plans.state import PlanState
from allstop.views.failure_reasons import FAILURE_REASONS, FailureReason
from allstop.views.log import Line, lines, switch_lines

RATE_LIMITED = "rate-limited"


class PlanConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    """The settings that the plan runs with."""

    mode: str
    primary_agent: str
    fallback_agent: str | None
    error_strategy: str
    max_retries: int
    retry_base_ms: int
    max_rate_limit_retries: int
    step_delay: int  # in milliseconds
    auto_commit: bool


class SkippedStep(Struct, frozen=True, kw_only=True):
    step: str
    reason: str


class PlanView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of a plan; the names are those of document 004."""

    session_id: RunId
    plan_id: str
    title: str
    status: str
    pause_reason: str | None
    reason: str
    resumes_at: datetime | None
    current_iteration: int
    current_step: Step | None
    current_phase: str
    current_phase_index: int
    current_step_index: int  # within its phase
    total_steps: int
    completed_steps: int
    failed_steps: int
    skipped_steps: tuple[str, ...]
    skip_reasons: tuple[SkippedStep, ...]
    retries: int  # of the current step
    started_at: datetime
    updated_at: datetime
    active_agent: str
    fallback_reason: str | None
    outcome: str | None
    failure: FailureReason | None  # why it waits or ended, and what a person can do
    config: PlanConfig


def plan_view(run: RunId, state: RunState[PlanState], helm: Helm, now: datetime) -> PlanView:
    plan = state.pilot
    spec, status = plan.spec, status_of(state, helm, now)
    phases = spec.plan.phases
    agent = plan.agent or spec.agents[0]
    changed = [at for at in (state.opened.at, plan.ended_at, _ended(state)) if at is not None]
    return PlanView(
        session_id=run,
        plan_id=spec.plan_id,
        title=spec.plan.title,
        status=status.status.value,
        pause_reason=status.reason.value if status.reason else None,
        reason=status.note,
        resumes_at=status.resumes_at,
        current_iteration=plan.turns,
        current_step=plan.step,
        current_phase=phases[plan.phase].name if phases else "",
        current_phase_index=plan.phase,
        current_step_index=plan.position - sum(len(each.steps) for each in phases[: plan.phase]),
        total_steps=len(plan.steps),
        completed_steps=plan.completed + sum(step.done for _, step in plan.steps),
        failed_steps=len(plan.failed),
        skipped_steps=tuple(each.step for each in plan.skipped),
        skip_reasons=tuple(
            SkippedStep(step=each.step, reason=each.reason) for each in plan.skipped
        ),
        retries=plan.failures,
        started_at=state.opened.at,
        updated_at=max(changed),
        active_agent=agent,
        fallback_reason=RATE_LIMITED if agent != spec.agents[0] else None,
        outcome=state.closed.outcome.value if state.closed else None,
        failure=_failure(run, plan, agent),
        config=PlanConfig(
            mode=spec.mode.value,
            primary_agent=spec.agents[0],
            fallback_agent=spec.agents[1] if len(spec.agents) > 1 else None,
            error_strategy=spec.on_error.value,
            max_retries=spec.backoff.retries,
            retry_base_ms=round(spec.backoff.first_s * 1000),
            max_rate_limit_retries=spec.patience.guesses,
            step_delay=round(spec.step_delay_s * 1000),
            auto_commit=spec.auto_commit,
        ),
    )


def _failure(run: RunId, plan: PlanState, agent: str) -> FailureReason | None:
    if plan.paused_by is None:
        return None
    reason = FAILURE_REASONS[plan.paused_by]
    return replace(reason, command=reason.command_for(run, agent))


def _ended(state: RunState[PlanState]) -> datetime | None:
    return state.closed.at if state.closed else None


class PlanLog:
    """The log of a plan: its events, and what they mean for its steps."""

    def __init__(self, pilot: PlanPilot) -> None:
        self.pilot = pilot
        self.state: RunState[Any] | None = None

    def take(self, event: Event) -> list[Line]:
        before = self.state
        if isinstance(event, Opened):
            self.state = runs.begin(self.pilot, event)
        elif before is not None:
            self.state = runs.evolve(self.pilot, before, event)
        found = lines(event)
        if before is not None and self.state is not None:
            changes = _changes(before.pilot, self.state.pilot, event.at)
            found += [Line(event.at, "◆", text) for text in changes]
            found += switch_lines(before.pilot.roster, self.state.pilot.roster)
        return found


def _changes(before: PlanState, after: PlanState, at: datetime) -> list[str]:
    """What an event changed, in words."""
    found = []
    step = before.step
    if after.completed > before.completed and step is not None:
        place = f"{before.position + 1} of {len(before.steps)}"
        found.append(f"step {step.id} is done ({place}): {one_line(step.title)}")
    if len(after.skipped) > len(before.skipped):
        skipped = after.skipped[-1]
        found.append(f"step {skipped.step} is skipped: {one_line(skipped.reason, 300)}")
    if after.failures > before.failures and after.wait_until is not None:
        seconds = (after.wait_until - at).total_seconds()
        found.append(f"{one_line(after.waits_for, 300)}; waits {seconds:.1f} s")
    if after.paused and after.paused != before.paused:
        found.append(f"paused: {one_line(after.paused, 300)}")
    return found
