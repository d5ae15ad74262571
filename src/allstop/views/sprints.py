"""Sprints as people see them, and the record of each as document 003 defines it."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from allstop.board import graph
from allstop.board.sprint import Sprint, SprintTask, attempts_in
from allstop.board.state import BoardState
from allstop.core.board_specs import ReviewMode, TargetKind, target_in_words
from allstop.core.brakes import Limits, Tally
from allstop.core.ids import RunId
from allstop.core.review_comments import ReviewDecision
from allstop.core.text import counted

MOST_READY = 1000

COLLECTED = frozenset({ReviewMode.BATCH, ReviewMode.PER_TASK})
"""Review modes in which finished work waits for a person."""


class SprintTarget(Struct, frozen=True, kw_only=True):
    type: TargetKind
    value: int | float | str | None  # tasks, hours or a time, as given


class TaskStat(Struct, frozen=True, kw_only=True, rename="camel"):
    """A finished task. Times are milliseconds since 1970."""

    task_id: str
    started_at: int
    completed_at: int
    iterations: int
    verification_passed: bool
    review_decision: ReviewDecision | UnsetType = UNSET


class SprintSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    max_iterations: int
    task_timeout: int  # minutes
    pause_on_stuck: bool
    pause_on_errors: bool


class SprintStats(Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of sprints.jsonl: exactly the fields of document 003."""

    id: str
    started_at: int
    ended_at: int | None
    target: SprintTarget
    total_tasks: int
    completed_tasks: int  # verified, and not rejected
    failed_tasks: int  # all others that are finished
    reviewing_tasks: int  # of the completed ones: waiting for a person's decision
    task_stats: tuple[TaskStat, ...]
    settings: SprintSettings


class SprintFilters(Struct, frozen=True, kw_only=True, rename="camel"):
    include_operations: tuple[str, ...]
    exclude_operations: tuple[str, ...]
    include_tags: tuple[str, ...]
    exclude_tags: tuple[str, ...]


class SprintOptions(Struct, frozen=True, kw_only=True, rename="camel"):
    checkpoint_before: bool
    pause_on_error: bool
    pause_on_stuck: bool
    batch_review: bool


class SprintView(SprintStats, frozen=True, kw_only=True, rename="camel"):
    """A sprint: its record, and what the record doesn't say."""

    phase: str  # running, paused, completing, or idle once it has ended
    until: str  # its target in words
    ends_at: datetime | None  # the moment of a target in time
    filters: SprintFilters
    options: SprintOptions
    note: str  # why it is paused
    reason: str  # why it ended
    at_work: tuple[str, ...]  # its tasks that are not finished
    ready: int  # further tasks that it could start now, counted up to 1,000
    checkpoint: str  # its name; "" without one
    turns: int
    tokens: int
    cost_usd: float
    partial: bool  # more was used, or spent, than agents reported
    cost_limit_usd: float | None  # of its budget


class CheckpointView(Struct, frozen=True, kw_only=True, rename="camel"):
    id: str  # the sprint that it was made before
    commit: str
    target: str  # the branch
    at: datetime


def stats_of(sprint: Sprint) -> SprintStats:
    """The record of a sprint; tasks that are at work again are not finished."""
    done = [task for name, task in sprint.finished.items() if name not in sprint.open]
    completed = [
        task for task in done if task.passed and task.decision is not ReviewDecision.REJECTED
    ]
    spec = sprint.spec
    return SprintStats(
        id=sprint.id,
        started_at=_ms(sprint.started_at),
        ended_at=None if sprint.ended_at is None else _ms(sprint.ended_at),
        target=SprintTarget(type=spec.target.type, value=spec.target.value),
        total_tasks=len(done) + len(sprint.open),
        completed_tasks=len(completed),
        failed_tasks=len(done) - len(completed),
        reviewing_tasks=sum(task.waits and not task.decision for task in completed),
        task_stats=tuple(map(_task_stat, done)),
        settings=SprintSettings(
            max_iterations=sprint.iterations,
            task_timeout=math.ceil(sprint.attempt_s / 60),
            pause_on_stuck=spec.pause_on_stuck,
            pause_on_errors=spec.pause_on_error,
        ),
    )


def _task_stat(task: SprintTask) -> TaskStat:
    return TaskStat(
        task_id=task.task,
        started_at=_ms(task.started_at),
        completed_at=_ms(task.completed_at),
        iterations=task.iterations,
        verification_passed=task.passed,
        review_decision=task.decision or UNSET,
    )


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def all_sprints(state: BoardState) -> list[Sprint]:
    """The newest first."""
    running = [state.sprint] if state.sprint is not None else []
    return [*running, *reversed(state.sprints)]


def view(
    sprint: Sprint,
    state: BoardState,
    now: datetime,
    under_way: Mapping[RunId, Tally],
    limits: Limits,
) -> SprintView:
    """`under_way` has the usage of running attempts, `limits` are those of the board."""
    used = usage_of(sprint, state, under_way)
    spec, is_running = sprint.spec, sprint.ended_at is None
    most = limits.cost_microusd if is_running else None
    return SprintView(
        **asdict(stats_of(sprint)),
        phase=sprint.phase_at(now).value,
        until=target_in_words(spec.target),
        ends_at=spec.ends_at,
        filters=SprintFilters(
            **{name: getattr(spec.filters, name) for name in SprintFilters.__struct_fields__}
        ),
        options=SprintOptions(
            checkpoint_before=spec.checkpoint_before,
            pause_on_error=spec.pause_on_error,
            pause_on_stuck=spec.pause_on_stuck,
            batch_review=sprint.review_of(state.spec.review) in COLLECTED,
        ),
        note=sprint.note,
        reason=sprint.reason,
        at_work=tuple(name for name in sprint.taken if name in sprint.open),
        ready=graph.count_favored(state.board, MOST_READY) if is_running else 0,
        checkpoint=sprint.checkpoint.name if sprint.checkpoint else "",
        turns=used.turns,
        tokens=used.tokens,
        cost_usd=used.cost_microusd / 1e6,
        partial=used.partial,
        cost_limit_usd=None if most is None else most / 1e6,
    )


def usage_of(sprint: Sprint, state: BoardState, under_way: Mapping[RunId, Tally]) -> Tally:
    """What all attempts used that the sprint has started, also those that don't count for it."""
    total = Tally()
    for task in filter(None, map(state.board.get, sprint.taken)):
        for attempt in attempts_in(sprint, task):
            is_over = attempt.ended_at is not None
            total = total.plus(attempt.tally if is_over else under_way.get(attempt.run, Tally()))
    return total


def sprint_of_attempts(state: BoardState) -> dict[RunId, str]:
    """The sprint of each attempt that one has started."""
    return {
        attempt.run: sprint.id
        for sprint in all_sprints(state)
        for task in filter(None, map(state.board.get, sprint.taken))
        for attempt in attempts_in(sprint, task)
    }


def checkpoints(sprints: Iterable[Sprint]) -> list[CheckpointView]:
    made = (sprint.checkpoint for sprint in sprints)
    return [
        CheckpointView(id=each.name, commit=each.commit, target=each.target, at=each.at)
        for each in made
        if each is not None
    ]


def summary(view: SprintStats) -> str:
    """What a sprint has done, in one line."""
    done = view.completed_tasks + view.failed_tasks
    parts = [
        f"{counted(done, 'task')} finished",
        f"{view.failed_tasks} failed" if view.failed_tasks else "",
        f"{counted(view.reviewing_tasks, 'task')} to review" if view.reviewing_tasks else "",
    ]
    return ", ".join(filter(None, parts))
