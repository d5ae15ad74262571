"""What can be looked at of a run's past: any moment of it, its decisions again, what came of it."""

from __future__ import annotations

from allstop.app.diffing import diff_in
from allstop.app.remarking import reviews_in
from allstop.core import receipts
from allstop.core.auto import AutoState
from allstop.core.auto_views import again, decided
from allstop.core.errors import NotFoundError
from allstop.core.ids import RunId
from allstop.core.views import describe, view
from allstop.server import asked, shapes
from allstop.server.desk import Desk
from allstop.server.reading import run_named
from allstop.server.reading_board import shown
from allstop.server.telling import auto_view


async def at(desk: Desk, given: asked.Moment) -> shapes.MomentView:
    name = await run_named(desk, given.run)
    newest = await desk.watcher.run(name)
    pilot, state, at, helm = await desk.rewinder.at(name, given.seq)
    # Whoever wrote an event was driving the run.
    seen = view(name, pilot, state, helm=helm, now=at, driven=True)
    return shapes.MomentView(
        seq=given.seq,
        last=newest.seq,
        at=at,
        run=seen,
        auto=auto_view(name, state, helm, at),
    )


async def replay(desk: Desk, given: asked.OneRun) -> shapes.Replayed:
    name = await run_named(desk, given.run)
    followed = await desk.watcher.run(name)
    events = [record.event for record in await desk.house.journal.read(name)]
    made = receipts.receipts(followed.pilot, events)
    moves = [
        shapes.Redecided(seq=each.seq, recorded=describe(each.move), again=describe(each.again))
        for each in made
        if each.again is not None
    ]
    decisions = [
        shapes.Redecided(seq=d.seq, recorded=decided(d.recorded.decision), again=again(d))
        for d in receipts.redecided(followed.pilot, events)
    ]
    return shapes.Replayed(
        run=name,
        decisions=len(made) + receipts.decisions(events),
        differences=sorted([*moves, *decisions], key=lambda each: each.seq),
    )


async def diff(desk: Desk, given: asked.OneRun) -> shapes.Diff:
    name = await run_named(desk, given.run)
    state = (await desk.watcher.run(name)).state.pilot
    if not isinstance(state, AutoState) or not state.spec.name:
        raise NotFoundError(f"{name} has no work of its own", "a task's is at /tasks/{task}/diff")
    return shown(name, await diff_in(desk.house, state.spec.name, await _merged(desk, name)))


async def live(desk: Desk, given: asked.OneRun) -> shapes.LiveList:
    name = await run_named(desk, given.run)
    return shapes.LiveList(run=name, words=desk.hub.spoken.of(name))


async def remarks(desk: Desk, given: asked.OneRun) -> shapes.ReviewList:
    name = await run_named(desk, given.run)
    return shapes.ReviewList(task=name, reviews=await reviews_in(desk.house, [name]))


async def _merged(desk: Desk, name: RunId) -> str:
    """The commit that brought its work into the target branch; "" while there is none."""
    merges = [h.run for h in desk.watcher.heads if h.parent == name and h.kind == "merge"]
    for run in reversed(merges):
        closed = (await desk.watcher.run(run)).state.closed
        if closed is not None and "commit" in closed.facts:
            return closed.facts["commit"]
    return ""
