"""A plan as a kind of run."""

from datetime import datetime

from msgspec import Struct

from allstop.core.commands import Approve, Command, Resume
from allstop.core.events import Opened
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.run import RunState
from allstop.core.text import one_line
from allstop.plans.pilot import PlanPilot
from allstop.plans.state import PlanState
from allstop.views.kind import Kind, Log
from allstop.views.plan_events import AutopilotEvent, LivePlan, Output, plan_id
from allstop.views.plans import PlanLog, PlanView, plan_view


class PlanKind(Kind):
    pilot = PlanPilot()
    has_workspace = True
    detail_type = PlanView
    detail_event = "plan"
    message_event = "autopilot"
    message_type = AutopilotEvent

    def begin(self, opened: Opened) -> LivePlan:
        return LivePlan(self.pilot, opened)

    def output(self, state: RunState[PlanState], text: str, now: datetime) -> Output:
        return Output(plan_id=plan_id(state.pilot), at=now, chunk=text)

    def log(self) -> Log:
        return PlanLog(self.pilot).take

    def resume_command(self, run: RunId, opened: Opened) -> str:
        return f"allstop plan resume {run}"

    def takes_effect(self, called: str, run: RunId, state: RunState[PlanState]) -> str:
        resume = self.resume_command(run, state.opened)
        return f"No process drives {called}: it takes effect after `{resume}`."

    def go_on_command(self, run: RunId, state: RunState[PlanState]) -> Command:
        is_asked = state.pilot.needs_approval and not state.pilot.paused
        return Approve(task=run) if is_asked else Resume()

    def go_on_words(self, run: RunId, state: RunState[PlanState]) -> str:
        is_asked = state.pilot.needs_approval and not state.pilot.paused
        verb = "approve" if is_asked else "resume"
        return f"allstop plan {verb} {run}"

    def hurry_command(self, called: str, state: RunState[PlanState]) -> str:
        return f"allstop plan retry {called}"

    def actions(
        self, state: RunState[PlanState], status: str, helm: Helm, now: datetime
    ) -> tuple[str, ...]:
        plan, usual = state.pilot, super().actions(state, status, helm, now)
        own: tuple[str, ...] = ()
        if plan.step is not None and "pause" in usual:
            own = ("retry", "skip") if plan.paused else ("skip",)
            own = ("approve", *own) if plan.needs_approval and not plan.paused else own
        if plan.paused and "pause" in usual:
            usual = ("resume", "stop")
        return (*own, *usual, "abort")

    def kept_after_abort(self, called: str) -> str:
        return f"; its work is kept: `allstop diff {called}`"

    def workspace(self, opened: Opened) -> str:
        return str(opened.spec.get("name") or "")

    def changed_files(self, state: RunState[PlanState]) -> int:
        return state.pilot.change.files if state.pilot.change else 0

    def plan(self, state: RunState[PlanState], helm: Helm, now: datetime) -> list[str]:
        plan = state.pilot
        step = f"step {plan.step.id}: {one_line(plan.step.title)}" if plan.step else "gate, merge"
        return [f"plan:  {one_line(state.opened.title, 200)}", f"next:  {step}"]

    def detail(
        self, run: RunId, state: RunState[PlanState], view: Struct, helm: Helm, now: datetime
    ) -> PlanView:
        return plan_view(run, state, helm, now)
