"""One sprint of a board: what it has done, and whether it goes on."""

from datetime import datetime
from itertools import islice, takewhile

from msgspec import Struct
from msgspec.structs import replace

from allstop.board import graph
from allstop.board.graph import Board
from allstop.board.scheduling import MAX_CANDIDATES
from allstop.board.sprint_states import Phase, Trigger, after
from allstop.core.board_specs import BoardSpec, ReviewMode, SprintSpec, TargetKind
from allstop.core.events import ChildClosed
from allstop.core.ids import RunId
from allstop.core.moves import CheckpointMade, Outcome
from allstop.core.review_comments import ReviewDecision
from allstop.core.tasks import Attempt, Status, Task

NOT_COUNTED = frozenset({Outcome.ABORTED, Outcome.CRASHED})
"""Ends of attempts that don't finish a task: it is pending again."""

REACHED, NOTHING_READY = "its target is reached", "no task is ready"
OUT_OF_BUDGET, CANCELLED = "its budget is used up", "a person cancelled it"
"""Why a sprint ended."""


class SprintTask(Struct, frozen=True, gc=False, kw_only=True):
    """A task that the sprint has finished."""

    task: str
    attempt: RunId  # the last one
    started_at: datetime
    completed_at: datetime
    iterations: int
    passed: bool
    waits: bool = False  # it was to be reviewed by a person
    decision: ReviewDecision | None = None  # of a person


class Checkpoint(Struct, frozen=True, gc=False, kw_only=True):
    name: str
    commit: str
    target: str
    at: datetime


class Sprint(Struct, frozen=True, gc=False, kw_only=True):
    id: str
    spec: SprintSpec
    started_at: datetime
    iterations: int  # allowed for each task when it started
    attempt_s: float
    phase: Phase = Phase.RUNNING
    finished: dict[str, SprintTask] = {}
    open: frozenset[str] = frozenset()  # tasks at work
    taken: tuple[str, ...] = ()  # every task that it has started, in that order
    checkpoint: Checkpoint | None = None
    note: str = ""  # why it is paused
    ended_at: datetime | None = None
    reason: str = ""  # why it ended

    def takes(self, task: Task) -> bool:
        return self.spec.filters.takes(task.operation, task.tags)

    @property
    def completed(self) -> int:
        """How many tasks are finished and not at work again."""
        return len(self.finished.keys() - self.open)

    def is_reached(self, now: datetime) -> bool:
        """Whether its target is reached."""
        spec = self.spec
        if spec.target.type is TargetKind.COUNT and self.completed >= _count(spec):
            return True
        return spec.ends_at is not None and now >= spec.ends_at

    def may_start(self, now: datetime) -> bool:
        """Whether it starts another task if one is ready."""
        if self.phase is not Phase.RUNNING or self.is_reached(now):
            return False
        counts = self.spec.target.type is TargetKind.COUNT
        return not counts or len(self.finished.keys() | self.open) < _count(self.spec)

    def phase_at(self, now: datetime) -> Phase:
        """The phase, also if a time has been reached since the last event."""
        is_ending = self.phase is Phase.RUNNING and self.is_reached(now)
        return Phase.COMPLETING if is_ending else self.phase

    def review_of(self, mode: ReviewMode) -> ReviewMode:
        """The review of its tasks: collected until its end, or only of doubtful work."""
        if self.spec.batch_review is None:
            return mode
        if not self.spec.batch_review:
            return ReviewMode.AUTO if mode is ReviewMode.BATCH else mode
        return max(mode, ReviewMode.BATCH, key=tuple(ReviewMode).index)


def _count(spec: SprintSpec) -> int:
    """How many tasks it finishes. A target is checked when the sprint starts, not on replay."""
    return spec.target.value if isinstance(spec.target.value, int) else 0


def begin(number: int, spec: SprintSpec, board: BoardSpec, at: datetime) -> Sprint:
    return Sprint(
        id=f"sprint{number}",
        spec=spec,
        started_at=at,
        iterations=board.iterations,
        attempt_s=board.attempt_s,
    )


def moved(sprint: Sprint, trigger: Trigger, note: str = "") -> Sprint:
    """The sprint after a trigger; one without effect changes nothing."""
    transition = after(sprint.phase, trigger)
    return sprint if transition is None else replace(sprint, phase=transition.to, note=note)


def completing_if_reached(sprint: Sprint, at: datetime) -> Sprint:
    """A sprint that has reached its target starts no more, also if a task is redone."""
    if sprint.phase is Phase.RUNNING and sprint.is_reached(at):
        return moved(sprint, Trigger.TARGET_REACHED)
    return sprint


def ended(sprint: Sprint, trigger: Trigger, at: datetime, reason: str) -> Sprint:
    """The sprint at its end; tasks that are still at work don't count."""
    finished = {name: task for name, task in sprint.finished.items() if name not in sprint.open}
    over = replace(moved(sprint, trigger), finished=finished, open=frozenset())
    return replace(over, ended_at=at, reason=reason)


# --- tasks ------------------------------------------------------------------------------------


def task_started(sprint: Sprint, task: Task) -> Sprint:
    """An attempt begins. A task counts if the sprint takes it, or had finished it before."""
    is_new = sprint.phase is Phase.RUNNING and sprint.takes(task)
    if not is_new and task.id not in sprint.finished:
        return sprint
    taken = sprint.taken if task.id in sprint.taken else (*sprint.taken, task.id)
    return replace(sprint, open=sprint.open | {task.id}, taken=taken)


def task_closed(sprint: Sprint, task: Task, closed: ChildClosed) -> Sprint:
    """An attempt has ended; `task` is as the board has it now."""
    if task.id not in sprint.open:
        return sprint
    sprint = replace(sprint, open=sprint.open - {task.id})
    others = {name: each for name, each in sprint.finished.items() if name != task.id}
    if closed.outcome in NOT_COUNTED:
        return replace(sprint, finished=others)
    passed = closed.outcome is Outcome.DONE
    # if clocks differ, the attempt seems to have begun before its sprint
    made = attempts_in(sprint, task) or [each for each in task.attempts if each.run == closed.run]
    done = SprintTask(
        task=task.id,
        attempt=closed.run,
        started_at=made[0].began_at,
        completed_at=closed.at,
        iterations=sum(attempt.tally.turns for attempt in made),
        passed=passed,
        waits=task.status is Status.REVIEW,
    )
    trigger = Trigger.TASK_COMPLETED if passed else Trigger.TASK_FAILED
    counted = replace(sprint, finished={**others, task.id: done})
    return completing_if_reached(moved(counted, trigger, counted.note), closed.at)


def attempts_in(sprint: Sprint, task: Task) -> list[Attempt]:
    """The attempts at a task that the sprint has started."""
    until = sprint.ended_at
    return [
        attempt
        for attempt in task.attempts
        if sprint.started_at <= attempt.began_at and (until is None or attempt.began_at < until)
    ]


def paused_by(sprint: Sprint, note: str) -> Sprint:
    """A sprint that pauses by itself; nothing is left to pause at its target."""
    return moved(sprint, Trigger.PAUSE_SPRINT, note)


def decided(sprint: Sprint, task: Task, decision: ReviewDecision) -> Sprint:
    """A person has decided about the work that the sprint finished; other work is not its own."""
    known = sprint.finished.get(task.id)
    if known is None or not task.attempts or task.attempts[-1].run != known.attempt:
        return sprint
    after_ = replace(known, decision=decision)
    return replace(sprint, finished={**sprint.finished, task.id: after_})


def with_checkpoint(sprint: Sprint, made: CheckpointMade, target: str, at: datetime) -> Sprint:
    checkpoint = Checkpoint(name=made.checkpoint, commit=made.commit, target=target, at=at)
    return replace(sprint, checkpoint=checkpoint)


# --- the end ----------------------------------------------------------------------------------


def needs_checkpoint(sprint: Sprint) -> bool:
    """Whether its checkpoint is to be made before its first task."""
    is_missing = sprint.spec.checkpoint_before and sprint.checkpoint is None
    return is_missing and sprint.phase is Phase.RUNNING


def end_reason(sprint: Sprint, board: Board, now: datetime, *, merges: bool) -> str:
    """Why the sprint ends now; "" if it doesn't. `merges`: the board can merge work."""
    if sprint.phase is Phase.PAUSED or sprint.open:
        return ""
    if any(_is_settling(board[name], merges=merges) for name in sprint.finished):
        return ""
    if sprint.phase_at(now) is Phase.COMPLETING:
        return REACHED
    return "" if _has_ready(sprint, board) else NOTHING_READY


def _is_settling(task: Task, *, merges: bool) -> bool:
    """Whether its work is about to be merged, or it is about to start again."""
    if task.status is Status.MERGING:
        return merges
    return task.status is Status.PENDING and task.assigned


def _has_ready(sprint: Sprint, board: Board) -> bool:
    """Ready tasks that it takes come first; only those that a person assigned come before."""
    first = takewhile(
        lambda task: task.assigned or sprint.takes(task),
        islice(graph.ready(board), MAX_CANDIDATES),
    )
    return any(sprint.takes(task) for task in first)
