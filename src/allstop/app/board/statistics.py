"""Statistics of the board since a moment, and how good its forecasts were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from allstop.app.turns import TurnReader
from allstop.board.forecast_quality import ForecastQuality, quality
from allstop.board.gate_catches import GateCatches
from allstop.board.sprint import Sprint
from allstop.board.state import BoardState
from allstop.board.statistics import VERIFIED, Period, Statistics, dollars
from allstop.board.statistics_groups import GroupBy, StatisticsGroup, Worked, Worker
from allstop.board.time_use import TimeUse, time_use
from allstop.core.brakes import Tally
from allstop.core.ids import BOARD, RunId, root_of
from allstop.core.tasks import Status, Task
from allstop.views.sprints import all_sprints
from allstop.views.usage import Turn

if TYPE_CHECKING:
    from allstop.app.project import Project

MOST_FINISHED = 500
"""How many finished tasks a report lists: the latest."""

ENDED = VERIFIED | {Status.FAILED, Status.TIMEOUT, Status.BLOCKED}


class FinishedTask(Struct, frozen=True, kw_only=True):
    """A task that was verified, failed, timed out or was blocked in the period."""

    task: str
    title: str
    at: datetime
    status: Status
    iterations: int  # of all its attempts, and so are the next two
    cost_usd: float | None
    partial: bool


class StatisticsReport(Statistics, frozen=True, kw_only=True):
    """The figures of a period, and the same by group and by day."""

    since: datetime
    by: GroupBy
    groups: list[StatisticsGroup]
    days: list[StatisticsGroup]  # each day from the first with work up to now
    time: TimeUse
    gate: GateCatches
    finished_tasks: list[FinishedTask]  # the oldest first
    forecasts: ForecastQuality


async def statistics_since(
    project: Project,
    state: BoardState,
    under_way: Mapping[RunId, Tally],
    since: datetime,
    by: GroupBy,
    turns: TurnReader | None = None,
    sprint: Sprint | None = None,
) -> StatisticsReport:
    """Everything since a moment, or one sprint from its start to its end.

    `under_way` has the usage of running attempts. Who asks repeatedly passes its own `turns`.
    """
    now = project.clock.now()
    tasks, period = state.board.tasks(), Period(since)
    if sprint is not None:
        tasks, period = _of_sprint(state, sprint)
    turns = turns or (TurnReader(project.journal) if project.has_store else None)
    taken = await turns.since(_first_start(tasks, period)) if turns else []
    in_review = {task.id for task in tasks if task.status is Status.REVIEW}
    times = [*turns.times.stretches, *turns.times.under_way(now, in_review)] if turns else []
    names = {task.id for task in tasks}
    stretches = [each for each in times if each.task in names and period.holds(each.ended_at)]
    worked = Worked(tasks, period, under_way, stretches)
    days = worked.by_day(None, (period.until or now).astimezone().date())
    if sprint is not None:
        sprints = [worked.of_sprint(sprint, tasks, now)]
    else:
        sprints = worked.by_sprint(all_sprints(state), now)
    return StatisticsReport(
        **structs.asdict(worked.total() if sprint is None else sprints[0].statistics),
        since=period.since,
        by=by,
        groups=_groups(worked, by, taken, days, sprints),
        days=days,
        time=time_use(stretches),
        gate=turns.catches.catches(period, names) if turns else GateCatches(),
        finished_tasks=_finished(tasks, period)[-MOST_FINISHED:],
        forecasts=quality(state.forecasts),
    )


def _of_sprint(state: BoardState, sprint: Sprint) -> tuple[list[Task], Period]:
    """The tasks that a sprint has taken, and its time up to and with its last moment."""
    tasks = [task for name in sprint.taken if (task := state.board.get(name)) is not None]
    until = None if sprint.ended_at is None else sprint.ended_at + timedelta.resolution
    return tasks, Period(sprint.started_at, until)


def _first_start(tasks: Iterable[Task], period: Period) -> datetime:
    """The journal is read from the start of the first attempt that counts."""
    starts = (
        attempt.began_at
        for task in tasks
        for attempt in task.attempts
        if period.holds(attempt.ended_at)
    )
    return min(starts, default=period.since)


def _groups(
    worked: Worked,
    by: GroupBy,
    turns: Sequence[Turn],
    days: list[StatisticsGroup],
    sprints: list[StatisticsGroup],
) -> list[StatisticsGroup]:
    match by:
        case GroupBy.TAG:
            return worked.by_field(lambda task: task.tags or ("",))
        case GroupBy.OPERATION:
            return worked.by_field(lambda task: (task.operation,))
        case GroupBy.AGENT:
            return worked.by_worker(_workers(turns, lambda turn: turn.agent))
        case GroupBy.MODEL:
            return worked.by_worker(_workers(turns, lambda turn: turn.usage.model))
        case GroupBy.DAY:
            return days
        case GroupBy.SPRINT:
            return sprints


def _workers(turns: Iterable[Turn], name_of: Callable[[Turn], str]) -> Iterator[Worker]:
    for turn in turns:
        if root_of(turn.run) == BOARD:
            usage = turn.usage
            used = Tally(
                turns=int(turn.counts),
                input=usage.input,
                cached=usage.cached,
                output=usage.output,
                cost_microusd=usage.cost_microusd,
                partial=usage.partial,
            )
            yield Worker(turn.run, name_of(turn), used)


def _finished(tasks: Iterable[Task], period: Period) -> list[FinishedTask]:
    found = [
        FinishedTask(
            task=task.id,
            title=task.title,
            at=at,
            status=task.status,
            iterations=task.tally.turns,
            cost_usd=dollars(task.tally),
            partial=task.tally.partial,
        )
        for task in tasks
        if (task.status in ENDED or task.lacks_merge)
        and task.attempts
        and (at := task.attempts[-1].ended_at) is not None
        and period.holds(at)
    ]
    return sorted(found, key=lambda each: each.at)
