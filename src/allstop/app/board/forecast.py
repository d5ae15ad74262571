"""Forecasts of the board: made for people, and recorded when work begins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial
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
from allstop.board.state import BoardState
from allstop.core.board_specs import Mode
from allstop.core.brakes import Tally
from allstop.core.errors import NotFoundError
from allstop.core.ids import RunId
from allstop.core.tasks import Task

if TYPE_CHECKING:
    from allstop.app.project import Project


class Question(Struct, frozen=True, kw_only=True):
    """What to forecast: some tasks, or by default all that the board would work on."""

    tasks: tuple[str, ...] = ()
    operation: str = ""
    tag: str = ""
    slots: int | None = None  # None: those of the board
    count: int | None = None  # no task starts after this many have finished
    until: datetime | None = None  # no task starts after this


async def make_forecast(
    state: BoardState, under_way: Mapping[RunId, Tally], question: Question, now: datetime
) -> Forecast | NoForecast:
    """Raises NotFoundError if there is no such task."""
    board = state.board
    for name in question.tasks:
        if board.get(name) is None:
            raise NotFoundError(f"there is no task {name!r}", "`allstop list` shows the tasks")
    chosen = [task for task in board.tasks() if _matches(task, state.named, question)]
    spec = state.spec if question.slots is None else replace(state.spec, slots=question.slots)
    target = Target(question.count, question.until)
    past = history(board.tasks())
    make = partial(forecast, board, chosen, past, spec, now, target=target, under_way=under_way)
    if len(past.attempts) < LEAST_ATTEMPTS:
        return make()
    return await anyio.to_thread.run_sync(make)  # it may take a second


def _matches(task: Task, named: Collection[str] | None, question: Question) -> bool:
    if question.tasks:
        return task.id in question.tasks
    if question.operation not in ("", task.operation):
        return False
    is_tagged = question.tag in ("", *task.tags)
    return is_tagged and (named is None or task.id in named)


async def record_forecast(
    project: Project, read: commands.BoardSnapshot, under_way: Mapping[RunId, Tally]
) -> commands.BoardSnapshot:
    """Store a forecast of the work that begins, if there is enough history for one."""
    state = read.state
    if state.spec.mode is not Mode.AUTOPILOT:
        return read
    question = Question(count=state.spec.count, until=state.spec.until)
    made = await make_forecast(state, under_way, question, project.clock.now())
    if isinstance(made, NoForecast):
        return read
    tasks = [
        task
        for task in state.board.tasks()
        if is_open(task) and _matches(task, state.named, question)
    ]
    spent = sum(task.tally.cost_microusd for task in tasks)
    spent += sum(
        under_way[task.attempts[-1].run].cost_microusd
        for task in tasks
        if task.attempts and task.attempts[-1].run in under_way
    )
    target = Target(question.count, question.until)
    command = record_of(made, tasks, target, spent_microusd=spent)
    return await commands.send_commands(project, lambda _: [command], read)
