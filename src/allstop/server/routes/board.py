"""Routes for reading the board and its tasks."""

import itertools
from collections.abc import Collection
from datetime import timedelta

from msgspec.structs import replace

from allstop.adapters.git.repository.diff import Diff
from allstop.app.board import commands, overview
from allstop.app.board import evidence as evidences
from allstop.app.board.diff import diff_of
from allstop.app.board.flaky_tests import flaky_tests
from allstop.app.board.forecast import Question, make_forecast, sprint_question
from allstop.app.board.review_comments import reviews_of
from allstop.app.board.sprints import named, sprint_spec, sprint_start
from allstop.app.board.statistics import StatisticsReport, statistics_since
from allstop.app.board.task_receipts import receipt_of_task
from allstop.app.start_requests import SprintRequest
from allstop.board.attempt import TaskState
from allstop.board.forecast import Forecast, NoForecast
from allstop.board.state import BoardState
from allstop.board.statistics_groups import GroupBy
from allstop.core.board_specs import Filters, Mode
from allstop.core.brakes import Tally
from allstop.core.errors import NotFoundError
from allstop.core.ids import BOARD, RunId, child_of
from allstop.core.run import RunState
from allstop.core.tasks import Status, Task
from allstop.gate.receipt import GateReceipt
from allstop.server import wire_types
from allstop.server.app_state import AppState
from allstop.server.routes import path_parameters
from allstop.server.run_messages import sprint_view, task_view
from allstop.views.board_phase import Phase, action, counts, phase, stopped
from allstop.views.evidence import Evidence, queue
from allstop.views.merge_queue import MergeQueueView, merge_queue_view, merge_run
from allstop.views.sprints import SprintView, all_sprints
from allstop.views.sprints import checkpoints as checkpoint_views


async def board(app: AppState, params: path_parameters.Tasks) -> wire_types.BoardPage:
    run = await app.live_runs.board()
    if run is None:
        return wire_types.BoardPage(
            phase=Phase.IDLE.value,
            action="",
            mode=Mode.AUTOPILOT.value,
            counts={},
            tasks=[],
            more=False,
        )
    state, helm = run.pilot, app.live_runs.helm
    under = await app.live_runs.below(state)
    halted = stopped(state, helm, under)
    matching = (task for task in state.board.tasks() if _matches(task, halted, params))
    page = list(itertools.islice(matching, params.after, params.after + params.limit + 1))
    now = phase(run, helm, under, driven=app.live_runs.is_driven(BOARD))
    return wire_types.BoardPage(
        phase=now.value,
        action=action(state.board, now),
        mode=state.spec.mode.value,
        counts=counts(state.board, halted),
        tasks=[
            await task_view(app.live_runs, state.board, task, halted)
            for task in page[: params.limit]
        ],
        more=len(page) > params.limit,
    )


def _matches(task: Task, halted: Collection[str], params: path_parameters.Tasks) -> bool:
    status = Status.PENDING if task.id in halted else task.status
    return params.status in ("", status) and params.operation in ("", task.operation)


async def task(app: AppState, params: path_parameters.OneTask) -> overview.TaskView:
    state, found = await _task(app, params.task)
    halted = stopped(state, app.live_runs.helm, await app.live_runs.below(state))
    return await task_view(app.live_runs, state.board, found, halted)


async def _task(app: AppState, name: str) -> tuple[BoardState, Task]:
    run = await app.live_runs.board()
    found = run.pilot.board.get(name) if run else None
    if run is None or found is None:
        hint = "`allstop list` shows the tasks"
        raise NotFoundError(f"there is no task {name!r}", hint)
    return run.pilot, found


async def diff(app: AppState, params: path_parameters.OneTask) -> wire_types.Diff:
    _, found = await _task(app, params.task)
    return shown(found.id, await diff_of(app.project, found))


async def remarks(app: AppState, params: path_parameters.OneTask) -> wire_types.ReviewList:
    _, found = await _task(app, params.task)
    return wire_types.ReviewList(task=found.id, reviews=await reviews_of(app.project, found))


async def receipt(app: AppState, params: path_parameters.OneTask) -> GateReceipt:
    return await receipt_of_task(app.project, params.task)


async def evidence(app: AppState, params: path_parameters.OneTask) -> Evidence:
    _, found = await _task(app, params.task)
    return await evidences.evidence(app.project, found, await _attempt(app, found))


async def _attempt(app: AppState, task: Task) -> RunState[TaskState]:
    return (await app.live_runs.run(evidences.last_run(task))).state


async def review(app: AppState, _: path_parameters.NoParameters) -> wire_types.ReviewQueue:
    run = await app.live_runs.board()
    if run is None:
        return wire_types.ReviewQueue(tasks=[])
    rows = [
        evidences.queued(run.pilot, task, await _attempt(app, task))
        for task in evidences.in_review(run.pilot)
    ]
    return wire_types.ReviewQueue(tasks=queue(rows))


async def merge_queue(app: AppState, _: path_parameters.NoParameters) -> MergeQueueView:
    run = await app.live_runs.board()
    state = run.pilot if run else (await commands.read(app.project)).state
    merge = merge_run(state)
    if merge is None:
        return merge_queue_view(state, None)
    return merge_queue_view(state, (await app.live_runs.run(merge)).state)


async def flaky(app: AppState, _: path_parameters.NoParameters) -> wire_types.FlakyTests:
    found = await flaky_tests(app.project)
    return wire_types.FlakyTests(tests=list(found.tests), unknown=list(found.unknown))


def shown(name: str, changed: Diff) -> wire_types.Diff:
    return wire_types.Diff(
        task=name,
        base=changed.base,
        tip=changed.tip,
        files=[
            wire_types.ChangedFile(
                path=file.path, change=file.change, added=file.added, removed=file.removed
            )
            for file in changed.files
        ],
        patch=changed.patch,
        cut=changed.cut,
    )


async def stats(app: AppState, params: path_parameters.Stats) -> StatisticsReport:
    run = await app.live_runs.board()
    state = run.pilot if run else (await commands.read(app.project)).state
    since = app.project.clock.now() - timedelta(days=params.days)
    under_way = await _under_way(app, state)
    return await statistics_since(app.project, state, under_way, since, params.by, app.turns)


async def sprint_stats(app: AppState, params: path_parameters.OneSprint) -> StatisticsReport:
    run = await app.live_runs.board()
    state = run.pilot if run else (await commands.read(app.project)).state
    found, under_way = named(state, params.sprint), await _under_way(app, state)
    since, by = found.started_at, GroupBy.AGENT
    return await statistics_since(app.project, state, under_way, since, by, app.turns, sprint=found)


async def forecast_sprint(
    app: AppState, _: path_parameters.NoParameters, body: SprintRequest
) -> Forecast | NoForecast:
    run = await app.live_runs.board()
    state = run.pilot if run else (await commands.read(app.project)).state
    now = app.project.clock.now()
    spec = sprint_spec(app.project, body, state, now)
    started = replace(state, spec=sprint_start(app.project, body).spec)
    question = sprint_question(started, spec, now)
    return await make_forecast(started, await _under_way(app, state), question, now)


async def forecast(app: AppState, params: path_parameters.Forecast) -> Forecast | NoForecast:
    run = await app.live_runs.board()
    state = run.pilot if run else (await commands.read(app.project)).state
    now = app.project.clock.now()
    question = Question(
        filters=Filters(
            include_operations=_names(params.operations),
            exclude_operations=_names(params.not_operations),
            include_tags=_names(params.tags),
            exclude_tags=_names(params.not_tags),
        ),
        slots=params.slots or None,
        count=params.count or None,
        until=now + timedelta(hours=params.hours) if params.hours else None,
    )
    return await make_forecast(state, await _under_way(app, state), question, now)


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


async def _under_way(app: AppState, state: BoardState) -> dict[RunId, Tally]:
    """The usage of the running attempts."""
    open_ = [run for ref in state.refs if app.live_runs.knows(run := child_of(BOARD, ref))]
    return {run: (await app.live_runs.run(run)).state.tally for run in open_}


async def sprints(app: AppState, _: path_parameters.NoParameters) -> wire_types.SprintList:
    run = await app.live_runs.board()
    if run is None:
        return wire_types.SprintList(sprints=[])
    found = all_sprints(run.pilot)
    return wire_types.SprintList(sprints=[await sprint_view(app.live_runs, run, s) for s in found])


async def sprint(app: AppState, params: path_parameters.OneSprint) -> SprintView:
    run = await app.live_runs.board()
    if run is not None:
        for each in all_sprints(run.pilot):
            if each.id == params.sprint:
                return await sprint_view(app.live_runs, run, each)
    raise NotFoundError(f"there is no sprint {params.sprint!r}", "`allstop sprint list` shows all")


async def checkpoints(app: AppState, _: path_parameters.NoParameters) -> wire_types.CheckpointList:
    run = await app.live_runs.board()
    made = checkpoint_views(all_sprints(run.pilot)) if run is not None else []
    return wire_types.CheckpointList(checkpoints=made)
