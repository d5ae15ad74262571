"""An attempt at a task as a kind of run."""

from allstop.board.attempt import TaskState
from allstop.board.task_pilot import TaskPilot
from allstop.core.events import Event
from allstop.core.run import RunState
from allstop.views.kind import Kind, Log
from allstop.views.log import Line, lines


class TaskKind(Kind):
    pilot = TaskPilot()
    has_workspace = True

    def log(self) -> Log:
        from allstop.views.tasks import TaskNotices

        stuck = TaskNotices(self.pilot)

        def log(event: Event) -> list[Line]:
            return [*lines(event), *stuck.take(event)]

        return log

    def kept_after_abort(self, called: str) -> str:
        return "; the task is then pending until `allstop retry`"

    def warning(self, state: RunState[TaskState]) -> str:
        return state.pilot.warning
