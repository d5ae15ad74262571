"""Prompts for the steps of a plan. Runs store their digests: changed words need a new edition."""

from allstop.core import conversation
from allstop.core.work_prompts import from_person
from allstop.plans.plan import Step
from allstop.plans.state import PlanState

WORK = """\
You work alone in a clone of the repository; commit your work or leave it in the files, both count.
Do only this step. Steps before it are over, and later steps follow by themselves.
If it can't be done, end your final message with this line:
<promise>BLOCKED: reason</promise>"""

COMMITS_EDITION = 2
"""From this edition on, Allstop alone commits."""

WORK_UNCOMMITTED = WORK.replace(
    "commit your work or leave it in the files, both count.",
    "leave your changes in the files, they are committed for you.",
)

REPAIR = """\
All steps of the plan are over. Before the work is merged, correct this:"""


def words(state: PlanState) -> str:
    step = state.step
    middle = [REPAIR] if step is None else [_phase(state), _step(step), _skipped(state)]
    work = WORK if state.spec.edition < COMMITS_EDITION else WORK_UNCOMMITTED
    before = conversation.introduction(state.talk)
    parts = [_about(state), before, *middle, state.news, *map(from_person, state.told), work]
    return "\n\n".join(part for part in parts if part) + "\n"


def _about(state: PlanState) -> str:
    plan = state.spec.plan
    title = f"The plan: {plan.title}" if plan.title else ""
    return "\n\n".join(filter(None, [title, plan.text]))


def _phase(state: PlanState) -> str:
    phases = state.spec.plan.phases
    phase = phases[state.phase]
    name = f"Phase {state.phase + 1} of {len(phases)}: {phase.name}"
    return "\n\n".join(filter(None, [name, phase.text]))


def _step(step: Step) -> str:
    parts = [f"Step {step.id}: {step.text}"]
    if step.criteria:
        parts.append("It is done when:\n" + "\n".join(f"- {each}" for each in step.criteria))
    if step.check:
        parts.append(f"This command must succeed afterwards:\n{step.check}")
    return "\n\n".join(parts)


def _skipped(state: PlanState) -> str:
    if not state.skipped:
        return ""
    lines = [f"- {each.step}: {each.reason}" for each in state.skipped[-20:]]
    return "These earlier steps were skipped and may be missing:\n" + "\n".join(lines)
