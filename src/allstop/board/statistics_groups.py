"""Statistics by agent, model, tag, operation, day or sprint."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from allstop.board.sprint import Sprint, attempts_in
from allstop.board.statistics import (
    Period,
    Share,
    Statistics,
    share_of,
    shares_in,
    statistics,
)
from allstop.board.time_use import Stretch, runtime_s
from allstop.core.brakes import Tally
from allstop.core.ids import RunId
from allstop.core.tasks import Task

MOST_DAYS = 366


class GroupBy(StrEnum):
    """How tasks are grouped. A task with two tags counts in both."""

    AGENT = "agent"
    MODEL = "model"
    TAG = "tag"
    OPERATION = "operation"
    DAY = "day"
    SPRINT = "sprint"


class StatisticsGroup(Struct, frozen=True, kw_only=True):
    name: str  # "" if tasks have no tag or operation, or the agent or model is unknown
    statistics: Statistics


class Worker(NamedTuple):
    """A turn's agent or model, and what the turn used."""

    run: RunId
    name: str
    used: Tally


class Worked(NamedTuple):
    """Everything that statistics of a period are made from."""

    tasks: Sequence[Task]
    period: Period
    under_way: Mapping[RunId, Tally]  # the usage of running attempts
    stretches: Sequence[Stretch]  # of the period

    def total(self) -> Statistics:
        return self._of(self.tasks, self.stretches)

    def _of(self, tasks: Iterable[Task], stretches: Iterable[Stretch]) -> Statistics:
        worked_s = runtime_s(stretches, self.period.since)
        shares = shares_in(tasks, self.period, self.under_way)
        return statistics(shares, self.period, runtime_s=worked_s)

    def by_field(self, names_of: Callable[[Task], Iterable[str]]) -> list[StatisticsGroup]:
        spans: dict[str, list[Stretch]] = {}
        for each in self.stretches:
            spans.setdefault(each.task, []).append(each)
        found: dict[str, list[Task]] = {}
        for task in self.tasks:
            for name in names_of(task):
                found.setdefault(name, []).append(task)
        made = [
            StatisticsGroup(
                name=name,
                statistics=self._of(tasks, [s for task in tasks for s in spans.get(task.id, ())]),
            )
            for name, tasks in found.items()
        ]
        return sorted((group for group in made if _is_used(group)), key=_weight)

    def by_worker(self, turns: Iterable[Worker]) -> list[StatisticsGroup]:
        """A task's result counts for the agent or model of its latest turn; usage for each."""
        of_run: dict[RunId, list[Worker]] = {}
        for turn in turns:
            of_run.setdefault(turn.run, []).append(turn)
        shares: dict[str, list[Share]] = {}
        for share in shares_in(self.tasks, self.period, self.under_way):
            attempts = [each for each in share.task.attempts if self.period.holds(each.ended_at)]
            taken = [turn for each in attempts for turn in of_run.get(each.run, ())]
            for name in {turn.name for turn in taken}:
                own = [turn for turn in taken if turn.name == name]
                part = Share(
                    task=share.task,
                    attempts=len({turn.run for turn in own}),
                    spent=_sum(turn.used for turn in own),
                    is_latest=share.is_latest,
                    is_merged=share.is_merged,
                    is_whole=taken[-1].name == name,
                )
                shares.setdefault(name, []).append(part)
        made = [
            StatisticsGroup(name=name, statistics=_without_now(statistics(parts, self.period)))
            for name, parts in shares.items()
        ]
        return sorted(made, key=_weight)

    def by_sprint(self, sprints: Iterable[Sprint], now: datetime) -> list[StatisticsGroup]:
        """The attempts that each sprint started; its merges count also if they came later."""
        tasks = {task.id: task for task in self.tasks}
        return [
            self.of_sprint(sprint, [tasks[name] for name in sprint.taken if name in tasks], now)
            for sprint in sprints
            if sprint.ended_at is None or self.period.holds(sprint.ended_at)
        ]

    def of_sprint(self, sprint: Sprint, tasks: Sequence[Task], now: datetime) -> StatisticsGroup:
        """The statistics of a sprint that took these tasks."""
        shares = []
        for task in tasks:
            own = attempts_in(sprint, task)
            is_merged = task.merged_at is not None and bool(own) and own[-1] is task.attempts[-1]
            shares.append(share_of(task, own, self.under_way, is_merged=is_merged))
        seconds = ((sprint.ended_at or now) - sprint.started_at).total_seconds()
        made = statistics(shares, Period(sprint.started_at), runtime_s=seconds)
        return StatisticsGroup(name=sprint.id, statistics=_without_now(made))

    def by_day(self, zone: tzinfo | None, today: date) -> list[StatisticsGroup]:
        """Every day from the first with work up to today; zone None means the machine's own."""
        tasks: dict[date, dict[str, Task]] = {}
        for task in self.tasks:
            ends = [each.ended_at for each in task.attempts] + [task.merged_at]
            for at in ends:
                if at is not None and self.period.holds(at):
                    tasks.setdefault(at.astimezone(zone).date(), {})[task.id] = task
        stretches: dict[date, list[Stretch]] = {}
        for each in self.stretches:
            stretches.setdefault(each.ended_at.astimezone(zone).date(), []).append(each)
        first = min([*tasks, *stretches], default=today)
        days = [today - timedelta(days=back) for back in range(MOST_DAYS)]
        return [
            _day(day, list(tasks.get(day, {}).values()), stretches.get(day, []), zone)
            for day in reversed(days)
            if day >= first
        ]


def _day(
    day: date, tasks: Sequence[Task], stretches: Sequence[Stretch], zone: tzinfo | None
) -> StatisticsGroup:
    since = _midnight(day, zone)
    period = Period(since, _midnight(day + timedelta(days=1), zone))
    shares = shares_in(tasks, period, {})
    made = statistics(shares, period, runtime_s=runtime_s(stretches, since))
    return StatisticsGroup(name=day.isoformat(), statistics=made)


def _midnight(day: date, zone: tzinfo | None) -> datetime:
    begin = datetime(day.year, day.month, day.day, tzinfo=zone)
    return begin.astimezone() if zone is None else begin


def _sum(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total = total.plus(tally)
    return total


def _without_now(made: Statistics) -> Statistics:
    """Nobody knows which agent or sprint will take the remaining tasks."""
    return replace(made, remaining=None, pending_merges=None)


def _is_used(group: StatisticsGroup) -> bool:
    made = group.statistics
    return bool(made.attempts or made.merged or made.remaining or made.pending_merges)


def _weight(group: StatisticsGroup) -> tuple[int, float, str]:
    """The groups with the most finished tasks come first."""
    made = group.statistics
    return -made.finished, -(made.cost_usd or 0), group.name
