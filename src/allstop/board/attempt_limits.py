"""The limits of one attempt at a task: those of a run, and the rest of the task's own limits."""

from collections.abc import Iterable
from typing import TypeVar

from allstop.core.board_specs import BoardSpec
from allstop.core.brakes import Limits, Tally, elapsed_seconds
from allstop.core.tasks import Attempt, Task

N = TypeVar("N", int, float)


def limits_of_attempt(spec: BoardSpec, task: Task, before: int) -> Limits:
    """The limits of the attempt after the first `before` ones."""
    return tighter(spec.limits, _left(spec.task_limits, task.attempts[:before]))


def tighter(one: Limits, other: Limits) -> Limits:
    """The lower of both limits; `at_limit` is that of the first."""
    return Limits(
        turns=_least(one.turns, other.turns),
        tokens=_least(one.tokens, other.tokens),
        cost_microusd=_least(one.cost_microusd, other.cost_microusd),
        time_s=_least(one.time_s, other.time_s),
        busy_s=_least(one.busy_s, other.busy_s),
        at_limit=one.at_limit,
    )


def _left(limits: Limits, attempts: Iterable[Attempt]) -> Limits:
    used, took_s = Tally(), 0.0
    for attempt in attempts:
        used = used.plus(attempt.tally)
        if attempt.ended_at is not None:
            took_s += elapsed_seconds(attempt.ended_at - attempt.began_at)
    return Limits(
        turns=_less(limits.turns, used.turns),
        tokens=_less(limits.tokens, used.tokens),
        cost_microusd=_less(limits.cost_microusd, used.cost_microusd),
        time_s=_less(limits.time_s, took_s),
    )


def _less(most: N | None, used: N) -> N | None:
    return None if most is None else max(most - used, type(used)(0))


def _least(one: N | None, other: N | None) -> N | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
