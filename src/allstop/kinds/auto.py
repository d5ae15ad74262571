"""A Full Auto thread as a kind of run."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from allstop.auto.pilot import AutoPilot
from allstop.auto.safety import is_unsafe
from allstop.auto.state import AutoState
from allstop.core.events import Event, Opened
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.run import RunState
from allstop.core.text import one_line
from allstop.views.auto import AutoLog, AutoView, auto_view, decisions, run_plan, stop_condition
from allstop.views.kind import Kind, Log


class AutoKind(Kind):
    pilot = AutoPilot()
    has_workspace = True
    detail_type = AutoView
    detail_event = "auto"

    def log(self) -> Log:
        return AutoLog(self.pilot).take

    def hurry_command(self, called: str, state: RunState[AutoState]) -> str:
        return f"allstop resume {called}"

    def actions(
        self, state: RunState[AutoState], status: str, helm: Helm, now: datetime
    ) -> tuple[str, ...]:
        usual = super().actions(state, status, helm, now)
        is_off = "pause" in usual and stop_condition(state, helm, now)
        return (*(("resume",) if is_off else usual), "abort")

    def kept_after_abort(self, called: str) -> str:
        return f"; its work is kept: `allstop diff {called}`"

    def workspace(self, opened: Opened) -> str:
        return str(opened.spec.get("name") or "")

    def changed_files(self, state: RunState[AutoState]) -> int:
        return state.pilot.change.files if state.pilot.change else 0

    def needs_look(self, state: RunState[AutoState]) -> bool:
        change = state.pilot.change
        return is_unsafe(state.pilot.decision) and change is not None and bool(change.guarded)

    def decisions(self, events: Sequence[Event]) -> list[Any]:
        return list(decisions(self.pilot, events))

    def plan(self, state: RunState[AutoState], helm: Helm, now: datetime) -> list[str]:
        plan = run_plan(state.pilot, stop_condition(state, helm, now))
        return [
            f"goal:  {one_line(plan.goal, 200)}",
            f"done:  when {plan.done_when}",
            f"next:  {plan.next}",
        ]

    def detail(
        self, run: RunId, state: RunState[AutoState], view: Struct, helm: Helm, now: datetime
    ) -> AutoView:
        return auto_view(run, state, helm, now)
