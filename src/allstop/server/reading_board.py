"""What can be looked at of the board and its tasks."""

from __future__ import annotations

import itertools
from collections.abc import Collection

from allstop.adapters.git.diffs import Shown
from allstop.app import overview
from allstop.app.diffing import diff_of
from allstop.app.phases import Phase, counts, phase, stopped
from allstop.app.remarking import reviews_of
from allstop.core.errors import NotFoundError
from allstop.core.ids import BOARD
from allstop.core.specs import Mode
from allstop.core.statistics import Statistics, statistics
from allstop.core.tasks import Status, Task
from allstop.pilots.board import BoardState
from allstop.server import asked, shapes
from allstop.server.desk import Desk
from allstop.server.telling import task_view


async def board(desk: Desk, given: asked.Tasks) -> shapes.BoardPage:
    run = await desk.watcher.board()
    if run is None:
        return shapes.BoardPage(
            phase=Phase.IDLE.value, mode=Mode.AUTOPILOT.value, counts={}, tasks=[], more=False
        )
    state, helm = run.pilot, desk.watcher.helm
    under = await desk.watcher.below(state)
    halted = stopped(state, helm, under)
    fitting = (task for task in state.board.tasks() if _fits(task, halted, given))
    page = list(itertools.islice(fitting, given.after, given.after + given.limit + 1))
    return shapes.BoardPage(
        phase=phase(run, helm, under, driven=desk.watcher.is_driven(BOARD)).value,
        mode=state.spec.mode.value,
        counts=counts(state.board, halted),
        tasks=[
            await task_view(desk.watcher, state.board, task, halted) for task in page[: given.limit]
        ],
        more=len(page) > given.limit,
    )


def _fits(task: Task, halted: Collection[str], given: asked.Tasks) -> bool:
    status = Status.PENDING if task.id in halted else task.status
    return given.status in ("", status) and given.operation in ("", task.operation)


async def task(desk: Desk, given: asked.OneTask) -> overview.TaskView:
    state, found = await _task(desk, given.task)
    halted = stopped(state, desk.watcher.helm, await desk.watcher.below(state))
    return await task_view(desk.watcher, state.board, found, halted)


async def _task(desk: Desk, name: str) -> tuple[BoardState, Task]:
    run = await desk.watcher.board()
    found = run.pilot.board.get(name) if run else None
    if run is None or found is None:
        raise NotFoundError(f"there is no task {name!r}", "`allstop list` shows what there is")
    return run.pilot, found


async def diff(desk: Desk, given: asked.OneTask) -> shapes.Diff:
    _, found = await _task(desk, given.task)
    return shown(found.id, await diff_of(desk.house, found))


async def remarks(desk: Desk, given: asked.OneTask) -> shapes.ReviewList:
    _, found = await _task(desk, given.task)
    return shapes.ReviewList(task=found.id, reviews=await reviews_of(desk.house, found))


def shown(name: str, changed: Shown) -> shapes.Diff:
    return shapes.Diff(
        task=name,
        base=changed.base,
        tip=changed.tip,
        files=[
            shapes.ChangedFile(
                path=file.path, change=file.change, added=file.added, removed=file.removed
            )
            for file in changed.files
        ],
        patch=changed.patch,
        cut=changed.cut,
    )


async def stats(desk: Desk, _: asked.Nothing) -> Statistics:
    run = await desk.watcher.board()
    if run is None:
        return Statistics()
    tasks = run.pilot.board.tasks()
    latest = [task.attempts[-1] for task in tasks if task.attempts]
    open_ = [each.run for each in latest if each.ended_at is None and desk.watcher.kind(each.run)]
    return statistics(
        tasks,
        run.opened.at,
        desk.house.clock.now(),
        merged=run.pilot.merged,
        resolved=run.pilot.resolved,
        under_way={name: (await desk.watcher.run(name)).state.tally for name in open_},
    )
