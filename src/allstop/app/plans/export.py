"""The Markdown of a plan or a draft, with the steps that its run has finished."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allstop.app.plans import drafts
from allstop.app.plans.runs import PILOT, plan_record
from allstop.app.runs.status import record_of
from allstop.core import run as runs
from allstop.core.errors import AllstopError
from allstop.plans.plan_text import written

if TYPE_CHECKING:
    from allstop.app.project import Project


class ExportedPlan(NamedTuple):
    text: str
    finished: tuple[str, ...] = ()  # the texts of the steps that are done


async def exported_plan(project: Project, run: str) -> ExportedPlan:
    """Raises AllstopError if there is no such plan or draft, or the draft has no text yet."""
    if (await record_of(project, run)).opened.kind == drafts.PILOT.kind:
        draft = await drafts.draft_of(project, run)
        if not draft.text:
            hint = f"`allstop log {run}` shows what its agent does"
            raise AllstopError(f"{run} has no plan yet", hint, code="draft_empty")
        return ExportedPlan(draft.text)
    state = runs.fold(PILOT, (await plan_record(project, run)).events).pilot
    skipped = {each.step for each in state.skipped}
    finished = [
        step
        for place, (_, step) in enumerate(state.steps)
        if step.done or (place < state.position and step.id not in skipped)
    ]
    text = written(state.spec.plan, {step.id for step in finished})
    return ExportedPlan(text, tuple(step.text for step in finished))
