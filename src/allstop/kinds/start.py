"""A queued start as a kind of run."""

from datetime import datetime

from allstop.core.events import Opened
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.run import RunState
from allstop.starts.pilot import QueuedStart, StartPilot
from allstop.views.kind import Kind


class StartKind(Kind):
    pilot = StartPilot()
    waits_as = "paused"
    wait_options = ("approve", "reject")

    def resume_command(self, run: RunId, opened: Opened) -> str:
        return f"allstop approve {run}"

    def takes_effect(self, called: str, run: RunId, state: RunState[QueuedStart]) -> str:
        return f"Nothing starts before `allstop approve {called}`."

    def actions(
        self, state: RunState[QueuedStart], status: str, helm: Helm, now: datetime
    ) -> tuple[str, ...]:
        return self.wait_options
