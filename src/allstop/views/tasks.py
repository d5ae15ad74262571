"""The warning in the log of a task whose attempt is stuck."""

from allstop.board.attempt import TaskState
from allstop.core.events import Event, Opened
from allstop.core.run import Pilot
from allstop.views.log import Line, switch_lines


class TaskNotices:
    """Tells when an attempt makes no commits for too long, and when another agent takes over."""

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
        if self._state is None or before is None:
            return []
        found = switch_lines(before.roster, self._state.roster)
        if self._state.is_stuck and not before.is_stuck:
            warning = f"warning: {self._state.warning}; the run continues"
            found.append(Line(event.at, "⚠", warning))
        return found
