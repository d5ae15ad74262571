"""Messages of the commits that a plan makes."""

from allstop.core.text import one_line
from allstop.plans.plan import Step
from allstop.plans.state import PlanState

LISTED = 100
"""The most skipped steps that a message lists."""


def title(state: PlanState) -> str:
    plan = state.spec.plan
    return one_line(plan.title or state.spec.plan_id or "plan", 60)


def of_step(step: Step) -> str:
    return f"Step {step.id}: {one_line(step.title, 60)}"


def of_skipped(step: Step, reason: str) -> str:
    return f"Step {step.id} (skipped): {one_line(step.title, 60)}\n\n{one_line(reason, 300)}"


def of_plan(state: PlanState) -> str:
    """For all changes that are not committed when the steps are over."""
    if state.spec.auto_commit:
        return f"Correct {state.spec.name}: {title(state)}"
    first = f"{state.spec.name}: {title(state)}"
    if not state.skipped:
        return first
    lines = [f"- {each.step}: {one_line(each.reason, 300)}" for each in state.skipped[:LISTED]]
    return "\n".join([first, "", "Skipped steps; their changes are included:", *lines])
