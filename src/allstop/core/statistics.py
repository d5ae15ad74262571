"""What a board has done, in numbers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from allstop.core.brakes import Tally
from allstop.core.moves import Outcome
from allstop.core.tasks import OVER, Attempt, Status, Task


class Statistics(Struct, frozen=True, kw_only=True):
    """Of the tasks that were worked on since a moment; the average is over those verified."""

    runtime_s: float = 0.0
    completed: int = 0
    failed: int = 0
    remaining: int = 0
    iterations: int = 0
    average: float = 0.0
    fastest: int = 0
    slowest: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
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
) -> Statistics:
    remaining = pending_merges = failed = 0
    tally = Tally()
    done: list[int] = []  # the iterations of each task that was verified
    for task in tasks:
        remaining += task.status not in OVER
        pending_merges += task.status is Status.MERGING
        attempts = [a for a in task.attempts if a.ended_at is None or a.ended_at >= since]
        spent = sum_of(attempts)
        tally = tally.plus(spent)
        if any(attempt.outcome is Outcome.DONE for attempt in attempts):
            done.append(spent.turns)
        elif attempts:
            failed += attempts[-1].outcome not in (None, Outcome.ABORTED)
    return Statistics(
        runtime_s=round((now - since).total_seconds(), 1),
        completed=len(done),
        failed=failed,
        remaining=remaining,
        iterations=tally.turns,
        average=round(sum(done) / len(done), 1) if done else 0.0,
        fastest=min(done, default=0),
        slowest=max(done, default=0),
        tokens=tally.tokens,
        cost_usd=tally.cost_microusd / 1e6,
        merged=merged,
        conflicts_resolved=resolved,
        pending_merges=pending_merges,
    )


def sum_of(attempts: Iterable[Attempt]) -> Tally:
    total = Tally()
    for attempt in attempts:
        total = total.plus(attempt.tally)
    return total
