"""Statistics of a board's tasks."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from allstop.core.brakes import Tally
from allstop.core.ids import RunId
from allstop.core.tasks import OVER, Attempt, Status, Task

VERIFIED = frozenset({Status.REVIEW, Status.MERGING, Status.DONE})


class Statistics(Struct, frozen=True, kw_only=True):
    """Numbers on the tasks worked on since a given time, by their current status.

    Completed tasks are those verified, merged or not; `average` is their mean number of iterations.
    """

    runtime_s: float = 0.0
    completed: int = 0
    unverified: int = 0  # of these: without any check
    failed: int = 0
    timed_out: int = 0
    blocked: int = 0
    crashed: int = 0  # and pending again
    remaining: int = 0
    iterations: int = 0
    failed_turns: int = 0
    average: float = 0.0
    fastest: int = 0
    slowest: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    partial: bool = False  # more was used, or spent, than agents reported
    merged: int = 0
    conflicts_resolved: int = 0
    pending_merges: int = 0


def statistics(
    tasks: Iterable[Task],
    since: datetime,
    now: datetime,
    *,
    merged: int,
    resolved: int,
    under_way: Mapping[RunId, Tally],
) -> Statistics:
    """A board knows the usage of ended attempts; `under_way` has that of the running ones."""
    remaining = pending_merges = crashed = 0
    ended: Counter[Status] = Counter()
    tally = Tally()
    done: list[int] = []  # the iterations of each task that was verified
    unverified = 0
    for task in tasks:
        remaining += task.status not in OVER
        pending_merges += task.status is Status.MERGING
        attempts = [a for a in task.attempts if a.ended_at is None or a.ended_at >= since]
        spent = _sum_of(attempts, under_way)
        tally = tally.plus(spent)
        if not attempts:
            continue
        ended[task.status] += 1
        crashed += task.has_crashed
        if task.status in VERIFIED or task.lacks_merge:
            done.append(spent.turns)
            unverified += task.unverified
    return Statistics(
        runtime_s=round((now - since).total_seconds(), 1),
        completed=len(done),
        unverified=unverified,
        failed=ended[Status.FAILED],
        timed_out=ended[Status.TIMEOUT],
        blocked=ended[Status.BLOCKED],
        crashed=crashed,
        remaining=remaining,
        iterations=tally.turns,
        failed_turns=tally.failed_turns,
        average=round(sum(done) / len(done), 1) if done else 0.0,
        fastest=min(done, default=0),
        slowest=max(done, default=0),
        tokens=tally.tokens,
        cost_usd=tally.cost_microusd / 1e6,
        partial=tally.partial,
        merged=merged,
        conflicts_resolved=resolved,
        pending_merges=pending_merges,
    )


def _sum_of(attempts: Iterable[Attempt], under_way: Mapping[RunId, Tally]) -> Tally:
    total = Tally()
    for attempt in attempts:
        is_over = attempt.ended_at is not None
        total = total.plus(attempt.tally if is_over else under_way.get(attempt.run, Tally()))
    return total
