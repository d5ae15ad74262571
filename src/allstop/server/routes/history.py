"""What can be looked at of a run's past: any moment of it, its decisions again, what came of it."""

from __future__ import annotations

from allstop.app.board.diff import diff_in
from allstop.app.board.review_comments import reviews_in
from allstop.core import replay as receipts
from allstop.core.errors import NotFoundError
from allstop.core.ids import RunId
from allstop.server import wire_types
from allstop.server.app_state import Desk
from allstop.server.routes import path_parameters
from allstop.server.routes.board import shown
from allstop.server.routes.runs import run_named
from allstop.views.auto import again, decided
from allstop.views.log import describe
from allstop.views.runs import view


async def at(desk: Desk, given: path_parameters.Moment) -> wire_types.MomentView:
    name = await run_named(desk, given.run)
    newest = await desk.live_runs.run(name)
    _, state, at, helm = await desk.rewinder.at(name, given.seq)
    kind = desk.live_runs.kind(name)
    # A process wrote the event, so it was driving the run.
    seen = view(name, kind, state, helm=helm, now=at, driven=True)
    return wire_types.MomentView(
        seq=given.seq,
        last=newest.seq,
        at=at,
        run=seen,
        detail=kind.detail(name, state, seen, helm, at),
    )


async def replay(desk: Desk, given: path_parameters.OneRun) -> wire_types.Replayed:
    name = await run_named(desk, given.run)
    followed = await desk.live_runs.run(name)
    events = [record.event for record in await desk.project.journal.read(name)]
    made = receipts.receipts(followed.pilot, events)
    moves = [
        wire_types.Redecided(seq=each.seq, recorded=describe(each.move), again=describe(each.again))
        for each in made
        if each.again is not None
    ]
    decisions = [
        wire_types.Redecided(seq=d.seq, recorded=decided(d.recorded.decision), again=again(d))
        for d in receipts.redecided(followed.pilot, events)
    ]
    return wire_types.Replayed(
        run=name,
        decisions=len(made) + receipts.count_decisions(events),
        differences=sorted([*moves, *decisions], key=lambda each: each.seq),
    )


async def diff(desk: Desk, given: path_parameters.OneRun) -> wire_types.Diff:
    name = await run_named(desk, given.run)
    opened = (await desk.live_runs.run(name)).state.opened
    workspace = desk.live_runs.kind(name).workspace(opened)
    if not workspace:
        raise NotFoundError(
            f"{name} has no work of its own",
            "a task's diff is at /tasks/{task}/diff",
            code="no_own_work",
        )
    return shown(name, await diff_in(desk.project, workspace, await _merged(desk, name)))


async def live(desk: Desk, given: path_parameters.OneRun) -> wire_types.LiveList:
    name = await run_named(desk, given.run)
    return wire_types.LiveList(run=name, words=desk.hub.spoken.of(name))


async def remarks(desk: Desk, given: path_parameters.OneRun) -> wire_types.ReviewList:
    name = await run_named(desk, given.run)
    return wire_types.ReviewList(task=name, reviews=await reviews_in(desk.project, [name]))


async def _merged(desk: Desk, name: RunId) -> str:
    """The commit that brought its work into the target branch; "" while there is none."""
    below = [head.run for head in desk.live_runs.heads if head.parent == name]
    for run in reversed(below):
        closed = (await desk.live_runs.run(run)).state.closed
        if closed is not None and "commit" in closed.facts:
            return closed.facts["commit"]
    return ""
