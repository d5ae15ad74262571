"""How good the recorded forecasts were: each beside what came."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from allstop.board.forecast import Forecast, Target
from allstop.board.forecast_record import RecordedForecast
from allstop.core.commands import Range, RecordForecast
from allstop.core.tasks import Task


def record_of(
    forecast: Forecast,
    tasks: Sequence[Task],
    target: Target,
    *,
    spent_microusd: int,
    sprint: str = "",
) -> RecordForecast:
    """The command that stores a forecast; `spent_microusd` was spent on the tasks before."""
    return RecordForecast(
        tasks=tuple(task.id for task in tasks),
        seconds=forecast.seconds,
        finished=forecast.finished,
        cost_usd=forecast.cost_usd,
        spent_microusd=spent_microusd,
        count=target.tasks,
        until=target.until,
        attempts=forecast.attempts,
        slots=forecast.slots,
        sprint=sprint,
    )


class Comparison(Struct, frozen=True, kw_only=True):
    """A recorded forecast beside what came."""

    made_at: datetime
    tasks: int
    slots: int
    sprint: str
    seconds: Range
    came_s: float | None  # None: not over, or replaced by a later forecast
    late_s: float | None  # after p90; negative: before p10; 0: inside the range
    finished: Range
    came_finished: int | None
    cost_usd: Range | None
    came_usd: float | None  # None also if the cost is unknown
    over_usd: float | None  # above p90; negative: below p10; 0: inside the range
    is_replaced: bool  # a later forecast came before the end


class ForecastQuality(Struct, frozen=True, kw_only=True):
    """How good the forecasts were; 8 of 10 should be inside."""

    compared: int
    inside: int  # ended between p10 and p90
    cost_compared: int
    cost_inside: int
    latest: tuple[Comparison, ...]  # the newest first


def quality(known: Sequence[RecordedForecast]) -> ForecastQuality:
    found = [
        comparison(each, is_replaced=each is not known[-1] and each.ended_at is None)
        for each in known
    ]
    late = [each.late_s for each in found if each.late_s is not None]
    over = [each.over_usd for each in found if each.over_usd is not None]
    return ForecastQuality(
        compared=len(late),
        inside=late.count(0),
        cost_compared=len(over),
        cost_inside=over.count(0),
        latest=tuple(reversed(found)),
    )


def comparison(each: RecordedForecast, *, is_replaced: bool = False) -> Comparison:
    made, is_over = each.made, each.ended_at is not None
    came_s = None if each.ended_at is None else (each.ended_at - each.made_at).total_seconds()
    came_usd = each.cost_microusd / 1e6 if is_over and not each.partial else None
    over_usd = None
    if came_usd is not None and made.cost_usd is not None:
        over_usd = _outside(came_usd, made.cost_usd)
    return Comparison(
        made_at=each.made_at,
        tasks=len(made.tasks),
        slots=made.slots,
        sprint=made.sprint,
        seconds=made.seconds,
        came_s=came_s,
        late_s=None if came_s is None else _outside(came_s, made.seconds),
        finished=made.finished,
        came_finished=each.finished if is_over else None,
        cost_usd=made.cost_usd,
        came_usd=came_usd,
        over_usd=over_usd,
        is_replaced=is_replaced,
    )


def _outside(came: float, expected: Range) -> float:
    return max(0.0, came - expected.p90) + min(0.0, came - expected.p10)
