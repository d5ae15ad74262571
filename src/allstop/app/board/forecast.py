"""Forecasts of the board: made for people, and recorded when work begins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from allstop.app.board import commands
from allstop.board.forecast import (
    LEAST_ATTEMPTS,
    Forecast,
    NoForecast,
    Target,
    forecast,
    history,
    is_open,
)
from allstop.board.forecast_quality import record_of
from allstop.board.sprint import Sprint, begin
from allstop.board.sprint_events import active
from allstop.board.state import BoardState
from allstop.core.board_specs import ALL_TASKS, BoardSpec, Filters, Mode, SprintSpec, TargetKind
from allstop.core.brakes import Tally
from allstop.core.errors import NotFoundError
from allstop.core.ids import RunId
from allstop.core.tasks import Task

if TYPE_CHECKING:
    from allstop.app.project import Project


class Question(Struct, frozen=True, kw_only=True):
    """What to forecast: some tasks, or by default all that the board would work on."""

    tasks: tuple[str, ...] = ()
    filters: Filters = ALL_TASKS
    slots: int | None = None  # None: those of the board
    count: int | None = None  # no task starts after this many have finished
    until: datetime | None = None  # no task starts after this
    sprint: Sprint | None = None  # its filters, target and review count; the rest of it


def sprint_question(state: BoardState, spec: SprintSpec, now: datetime) -> Question:
    """The forecast of a sprint before it starts."""
    return Question(sprint=begin(len(state.sprints) + 1, spec, state.spec, now))


async def make_forecast(
    state: BoardState, under_way: Mapping[RunId, Tally], question: Question, now: datetime
) -> Forecast | NoForecast:
    """While a sprint runs, a question about nothing else is about that sprint.

    Raises NotFoundError if there is no such task.
    """
    board = state.board
    for name in question.tasks:
        if board.get(name) is None:
            raise NotFoundError(f"there is no task {name!r}", "`allstop list` shows the tasks")
    if question == Question() and (current := active(state)) is not None:
        question = Question(sprint=current)
    chosen = _chosen(state, question)
    spec = _spec(state.spec, question)
    past = history(board.tasks())
    target = _target(question)
    chance = Random(0)  # noqa: S311 - a simulation; the same board gives the same forecast
    make = partial(forecast, board, chosen, past, spec, now, target=target, under_way=under_way)
    make = partial(make, chance=chance)
    if len(past.attempts) < LEAST_ATTEMPTS:
        return make()
    return await anyio.to_thread.run_sync(make)  # it may take a second


def _chosen(state: BoardState, question: Question) -> list[Task]:
    sprint, named = question.sprint, state.named

    def matches(task: Task) -> bool:
        if sprint is not None:
            return task.id in sprint.open or sprint.takes(task)
        if question.tasks:
            return task.id in question.tasks
        is_taken = question.filters.takes(task.operation, task.tags)
        return is_taken and (named is None or task.id in named)

    return [task for task in state.board.tasks() if matches(task)]


def _target(question: Question) -> Target:
    sprint = question.sprint
    if sprint is None:
        return Target(question.count, question.until)
    target = sprint.spec.target
    if target.type is not TargetKind.COUNT or not isinstance(target.value, int):
        return Target(None, sprint.spec.ends_at)
    return Target(max(0, target.value - sprint.completed), sprint.spec.ends_at)


def _spec(spec: BoardSpec, question: Question) -> BoardSpec:
    """The board's spec with the slots of the question, and the review of its sprint."""
    if question.slots is not None:
        spec = replace(spec, slots=question.slots)
    if (sprint := question.sprint) is None:
        return spec
    rules = tuple(replace(each, mode=sprint.review_of(each.mode)) for each in spec.review_rules)
    return replace(spec, review=sprint.review_of(spec.review), review_rules=rules)


async def record_forecast(
    project: Project, read: commands.BoardSnapshot, under_way: Mapping[RunId, Tally]
) -> commands.BoardSnapshot:
    """Store a forecast of the work that begins, if there is enough history for one.

    A sprint that another process continues keeps its forecast.
    """
    state, sprint = read.state, active(read.state)
    name = sprint.id if sprint is not None else ""
    is_known = bool(name) and any(each.made.sprint == name for each in state.forecasts)
    if state.spec.mode is not Mode.AUTOPILOT or is_known:
        return read
    question = Question(count=state.spec.count, until=state.spec.until, sprint=sprint)
    made = await make_forecast(state, under_way, question, project.clock.now())
    if isinstance(made, NoForecast):
        return read
    tasks = [task for task in _chosen(state, question) if is_open(task)]
    latest = [task.attempts[-1].run for task in tasks if task.attempts]
    spent = sum(task.tally.cost_microusd for task in tasks)
    spent += sum(under_way[run].cost_microusd for run in latest if run in under_way)
    command = record_of(made, tasks, _target(question), spent_microusd=spent, sprint=name)
    return await commands.send_commands(project, lambda _: [command], read)
