"""Statistics of a board's tasks in a period: the one definition of each figure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from allstop.core.brakes import Tally
from allstop.core.ids import RunId
from allstop.core.tasks import OVER, Attempt, Status, Task

LEAST_RUNTIME_S = 600
"""A shorter time says nothing about an hour."""

VERIFIED = frozenset({Status.REVIEW, Status.MERGING, Status.DONE})


class Period(NamedTuple):
    """From a moment to another, or up to now."""

    since: datetime
    until: datetime | None = None

    def holds(self, at: datetime | None) -> bool:
        """Whether something ended in it at this time; None: it has not ended yet."""
        if at is None:
            return self.until is None
        return self.since <= at and (self.until is None or at < self.until)


class Share(NamedTuple):
    """The part of one task's work that counts in a period or for a group."""

    task: Task
    attempts: int
    spent: Tally
    is_latest: bool  # whether its latest attempt is among these
    is_merged: bool  # whether its merge counts here
    is_whole: bool = True  # False: only a part of the work; the task counts elsewhere


class Statistics(Struct, frozen=True, kw_only=True):
    """Numbers on the tasks worked on in a period, by their current status.

    A task counts in the period in which its latest attempt ended, an attempt in the one in which it
    ended itself. Completed tasks are those verified, merged or not; averages are of these. None
    means that the number is unknown, or that there is nothing to take it from.
    """

    runtime_s: float | None = None  # how long anything was at work; of a session, its length
    completed: int = 0
    unverified: int = 0  # of these: without any check
    failed: int = 0
    timed_out: int = 0
    blocked: int = 0
    crashed: int = 0  # and pending again
    finished: int = 0  # completed, failed, timed out or blocked
    per_hour: float | None = None  # finished tasks; None below 10 minutes of runtime
    remaining: int | None = None  # now
    attempts: int = 0
    iterations: int = 0
    failed_turns: int = 0
    average: float | None = None  # iterations of a completed task; and the next two
    fastest: int | None = None
    slowest: int | None = None
    tokens: int | None = 0
    cost_usd: float | None = 0.0
    partial: bool = False  # more was used, or spent, than agents reported
    merged: int = 0
    conflicts_resolved: int = 0  # merges that succeeded after a conflict
    pending_merges: int | None = None  # now
    cost_per_merged_usd: float | None = None  # all attempts of each merged task
    merged_partial: bool = False  # more was spent on them than agents reported


def shares_in(
    tasks: Iterable[Task], period: Period, under_way: Mapping[RunId, Tally]
) -> Iterator[Share]:
    """Each task's work in a period.

    A board knows the usage of ended attempts; `under_way` has that of the running ones.
    """
    for task in tasks:
        attempts = [each for each in task.attempts if period.holds(each.ended_at)]
        is_merged = task.merged_at is not None and period.holds(task.merged_at)
        yield share_of(task, attempts, under_way, is_merged=is_merged)


def share_of(
    task: Task, attempts: Sequence[Attempt], under_way: Mapping[RunId, Tally], *, is_merged: bool
) -> Share:
    is_latest = bool(attempts) and attempts[-1] is task.attempts[-1]
    return Share(task, len(attempts), _sum_of(attempts, under_way), is_latest, is_merged)


def statistics(
    shares: Iterable[Share], period: Period, *, runtime_s: float | None = None
) -> Statistics:
    ended: Counter[Status] = Counter()
    spent = merged_spent = Tally()
    done: list[int] = []  # the iterations of each task that was completed
    crashed = unverified = remaining = pending = attempts = merged = resolved = 0
    for share in shares:
        task = share.task
        attempts += share.attempts
        spent = spent.plus(share.spent)
        if not share.is_whole:
            continue
        remaining += task.status not in OVER
        pending += task.status is Status.MERGING
        if share.is_merged:
            merged += 1
            resolved += bool(task.conflicts_resolved)
            merged_spent = merged_spent.plus(task.tally)
        if not share.attempts or not share.is_latest:
            continue
        ended[task.status] += 1
        crashed += task.has_crashed
        if task.status in VERIFIED or task.lacks_merge:
            done.append(share.spent.turns)
            unverified += task.unverified
    failed, late, blocked = (
        ended[each] for each in (Status.FAILED, Status.TIMEOUT, Status.BLOCKED)
    )
    finished = len(done) + failed + late + blocked
    is_now = period.until is None
    return Statistics(
        runtime_s=None if runtime_s is None else round(runtime_s, 1),
        completed=len(done),
        unverified=unverified,
        failed=failed,
        timed_out=late,
        blocked=blocked,
        crashed=crashed,
        finished=finished,
        per_hour=_per_hour(finished, runtime_s),
        remaining=remaining if is_now else None,
        attempts=attempts,
        iterations=spent.turns,
        failed_turns=spent.failed_turns,
        average=round(sum(done) / len(done), 1) if done else None,
        fastest=min(done, default=None),
        slowest=max(done, default=None),
        tokens=_known(spent.tokens, spent),
        cost_usd=dollars(spent),
        partial=spent.partial,
        merged=merged,
        conflicts_resolved=resolved,
        pending_merges=pending if is_now else None,
        cost_per_merged_usd=_each(dollars(merged_spent), merged),
        merged_partial=merged_spent.partial,
    )


def dollars(spent: Tally) -> float | None:
    """The known cost; None if none of it is known."""
    return None if spent.partial and not spent.cost_microusd else spent.cost_microusd / 1e6


def _per_hour(finished: int, runtime_s: float | None) -> float | None:
    if runtime_s is None or runtime_s < LEAST_RUNTIME_S:
        return None
    return round(3600 * finished / runtime_s, 2)


def _known(amount: int, spent: Tally) -> int | None:
    return None if spent.partial and not amount else amount


def _each(total: float | None, count: int) -> float | None:
    return None if total is None or not count else round(total / count, 6)


def _sum_of(attempts: Iterable[Attempt], under_way: Mapping[RunId, Tally]) -> Tally:
    total = Tally()
    for attempt in attempts:
        is_over = attempt.ended_at is not None
        total = total.plus(attempt.tally if is_over else under_way.get(attempt.run, Tally()))
    return total
