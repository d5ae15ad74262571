"""The warning in the log of a task whose attempt is stuck."""

from allstop.board.attempt import TaskState
from allstop.core.events import Event, Opened
from allstop.core.run import Pilot
from allstop.views.log import Line


class StuckWarning:
    """Warns once each time an attempt makes no commits for too long."""

    def __init__(self, pilot: Pilot[TaskState], known: TaskState | None = None) -> None:
        self._pilot = pilot
        self._state = known

    def take(self, event: Event) -> list[Line]:
        """Return the log lines to add after the next event."""
        before = self._state
        if isinstance(event, Opened):
            self._state = self._pilot.begin(event.spec)
        elif before is not None:
            self._state = self._pilot.evolve(before, event)
        if self._state is None or not self._state.is_stuck or (before and before.is_stuck):
            return []
        return [Line(event.at, "⚠", f"warning: {self._state.warning}; the run continues")]
