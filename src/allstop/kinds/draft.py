"""A draft, in which an agent writes a plan, as a kind of run."""

from datetime import datetime

from msgspec import Struct

from allstop.core.commands import Command, Resume, Skip
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.run import RunState
from allstop.plans.draft import DraftState
from allstop.plans.draft_pilot import DraftPilot
from allstop.views.drafts import DraftLog, DraftView, draft_view
from allstop.views.kind import Kind, Log


class DraftKind(Kind):
    pilot = DraftPilot()
    detail_type = DraftView
    detail_event = "draft"

    def log(self) -> Log:
        return DraftLog(self.pilot).take

    def go_on_command(self, run: RunId, state: RunState[DraftState]) -> Command:
        return Skip() if state.pilot.waiting else Resume()

    def actions(
        self, state: RunState[DraftState], status: str, helm: Helm, now: datetime
    ) -> tuple[str, ...]:
        usual = super().actions(state, status, helm, now)
        if state.pilot.paused and "pause" in usual:
            usual = ("resume", "stop")
        own = ("answer", "skip") if state.pilot.waiting and "pause" in usual else ()
        return (*own, *usual, "abort")

    def plan(self, state: RunState[DraftState], helm: Helm, now: datetime) -> list[str]:
        return [f"goal:  {state.opened.title}"]

    def detail(
        self, run: RunId, state: RunState[DraftState], view: Struct, helm: Helm, now: datetime
    ) -> DraftView:
        return draft_view(run, state)
