"""What can be looked at of a run's past: any moment of it, its decisions again, what came of it."""

from __future__ import annotations

from allstop.app.board.diff import diff_in
from allstop.app.board.review_comments import reviews_in
from allstop.auto.state import AutoState
from allstop.core import replay as receipts
from allstop.core.errors import NotFoundError
from allstop.core.ids import RunId
from allstop.server import wire_types
from allstop.server.app_state import Desk
from allstop.server.routes import path_parameters
from allstop.server.routes.board import shown
from allstop.server.routes.runs import run_named
from allstop.server.run_messages import auto_view
from allstop.views.auto import again, decided
from allstop.views.runs import describe, view


async def at(desk: Desk, given: path_parameters.Moment) -> wire_types.MomentView:
    name = await run_named(desk, given.run)
    newest = await desk.live_runs.run(name)
    pilot, state, at, helm = await desk.rewinder.at(name, given.seq)
    # Whoever wrote an event was driving the run.
    seen = view(name, pilot, state, helm=helm, now=at, driven=True)
    return wire_types.MomentView(
        seq=given.seq,
        last=newest.seq,
        at=at,
        run=seen,
        auto=auto_view(name, state, helm, at),
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
    state = (await desk.live_runs.run(name)).state.pilot
    if not isinstance(state, AutoState) or not state.spec.name:
        raise NotFoundError(f"{name} has no work of its own", "a task's is at /tasks/{task}/diff")
    return shown(name, await diff_in(desk.project, state.spec.name, await _merged(desk, name)))


async def live(desk: Desk, given: path_parameters.OneRun) -> wire_types.LiveList:
    name = await run_named(desk, given.run)
    return wire_types.LiveList(run=name, words=desk.hub.spoken.of(name))


async def remarks(desk: Desk, given: path_parameters.OneRun) -> wire_types.ReviewList:
    name = await run_named(desk, given.run)
    return wire_types.ReviewList(task=name, reviews=await reviews_in(desk.project, [name]))


async def _merged(desk: Desk, name: RunId) -> str:
    """The commit that brought its work into the target branch; "" while there is none."""
    merges = [h.run for h in desk.live_runs.heads if h.parent == name and h.kind == "merge"]
    for run in reversed(merges):
        closed = (await desk.live_runs.run(run)).state.closed
        if closed is not None and "commit" in closed.facts:
            return closed.facts["commit"]
    return ""
