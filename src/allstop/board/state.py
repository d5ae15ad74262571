"""The state of a board: its settings, its tasks, its open child runs and its sprints."""

from datetime import datetime

from msgspec import Struct

from allstop.board.forecast_record import RecordedForecast
from allstop.board.graph import Board
from allstop.board.sprint import Sprint
from allstop.board.sprint_states import Phase
from allstop.core import board_specs
from allstop.core.moves import Outcome
from allstop.core.tasks import Status
from allstop.core.text import counted
from allstop.merges.queue import MergeQueue

FAILURES = frozenset({Outcome.FAILED, Outcome.CRASHED})
"""Ends of attempts that count as errors."""


class BoardState(Struct, frozen=True, gc=False, kw_only=True):
    spec: board_specs.BoardSpec
    chosen: board_specs.Mode | None = None  # the mode that a person has set; it outlives restarts
    board: Board = Board()
    refs: dict[str, str] = {}  # the open child runs, and the tasks they are for
    merging: str = ""  # the one of them that merges
    queue: MergeQueue = MergeQueue()
    resting: dict[str, datetime | None] = {}  # those that need no slot, and until when
    retried: frozenset[str] = frozenset()  # tasks that people want retried
    named: frozenset[str] | None = None  # the only tasks that the board acts on; None: all
    started: int = 0  # since its settings were last replaced
    errors: int = 0  # failed tasks in a row
    target_failure: str = ""  # a check that fails on the target without any work, too
    merged: int = 0
    resolved: int = 0  # conflicts
    forecasts: tuple[RecordedForecast, ...] = ()
    sprint: Sprint | None = None  # the running one
    sprints: tuple[Sprint, ...] = ()  # those that have ended, the oldest first
    rests: bool = False  # a sprint has ended, so a person decides what else starts

    def at_work(self, now: datetime) -> int:
        """How many tasks occupy a slot."""
        resting = [
            ref
            for ref, until in self.resting.items()
            if (until is None or now < until) and self.acts_on(self.refs[ref])
        ]
        return self._active() - len(resting)

    def _active(self) -> int:
        if self.named is None:
            return self.board.count(Status.ACTIVE)
        named = filter(None, map(self.board.get, self.named))
        return sum(task.status is Status.ACTIVE for task in named)

    def acts_on(self, task: str) -> bool:
        return self.named is None or task in self.named

    def others(self) -> list[str]:
        """The open child runs that the board leaves alone. A merge that has begun is finished."""
        return [
            ref for ref, task in self.refs.items() if ref != self.merging and not self.acts_on(task)
        ]

    @property
    def is_braked(self) -> bool:
        """Whether too many tasks failed in a row, or none can pass; a person has to resume it."""
        return bool(self.target_failure) or 0 < self.spec.errors <= self.errors

    @property
    def brake_reason(self) -> str:
        """Why the board is braked; "" if it isn't."""
        if self.target_failure:
            return f"no work can pass: {self.target_failure} fails on {self.spec.target}, too"
        return f"{counted(self.errors, 'task')} failed in a row" if self.is_braked else ""

    @property
    def sprint_pause(self) -> str:
        """Why the running sprint is paused; "" if it isn't."""
        if self.sprint is None or self.sprint.phase is not Phase.PAUSED:
            return ""
        return f"{self.sprint.id} is paused: {self.sprint.note}"
