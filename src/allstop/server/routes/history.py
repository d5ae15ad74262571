"""Routes for the history of a run: past states, repeated decisions, its diff and live text."""

from allstop.app.board.diff import diff_in
from allstop.app.board.review_comments import reviews_in
from allstop.core import replay as receipts
from allstop.core.errors import NotFoundError
from allstop.core.ids import RunId
from allstop.server import wire_types
from allstop.server.app_state import AppState
from allstop.server.routes import path_parameters
from allstop.server.routes.board import shown
from allstop.server.routes.runs import find_run
from allstop.views.auto import describe_decision, describe_difference
from allstop.views.log import describe
from allstop.views.runs import view


async def at(app: AppState, params: path_parameters.Moment) -> wire_types.MomentView:
    name = await find_run(app, params.run)
    newest = await app.live_runs.run(name)
    _, state, at, helm = await app.rewinder.at(name, params.seq)
    kind = app.live_runs.kind(name)
    # A process wrote the event, so it was driving the run.
    seen = view(name, kind, state, helm=helm, now=at, driven=True, last_at=at)
    return wire_types.MomentView(
        seq=params.seq,
        last=newest.seq,
        at=at,
        run=seen,
        detail=kind.detail(name, state, seen, helm, at),
    )


async def replay(app: AppState, params: path_parameters.OneRun) -> wire_types.Replayed:
    name = await find_run(app, params.run)
    followed = await app.live_runs.run(name)
    events = [record.event for record in await app.project.journal.read(name)]
    made = receipts.receipts(followed.pilot, events)
    moves = [
        wire_types.Redecided(seq=each.seq, recorded=describe(each.move), again=describe(each.again))
        for each in made
        if each.again is not None
    ]
    decisions = [
        wire_types.Redecided(
            seq=d.seq, recorded=describe_decision(d.recorded.decision), again=describe_difference(d)
        )
        for d in receipts.redecided(followed.pilot, events)
    ]
    return wire_types.Replayed(
        run=name,
        decisions=len(made) + receipts.count_decisions(events),
        differences=sorted([*moves, *decisions], key=lambda each: each.seq),
    )


async def diff(app: AppState, params: path_parameters.OneRun) -> wire_types.Diff:
    name = await find_run(app, params.run)
    opened = (await app.live_runs.run(name)).state.opened
    workspace = app.live_runs.kind(name).workspace(opened)
    if not workspace:
        raise NotFoundError(
            f"{name} has no work of its own",
            "for the diff of a task use /tasks/{task}/diff",
            code="no_own_work",
        )
    return shown(name, await diff_in(app.project, workspace, await _merged(app, name)))


async def live(app: AppState, params: path_parameters.OneRun) -> wire_types.LiveList:
    name = await find_run(app, params.run)
    return wire_types.LiveList(run=name, words=app.broadcast.live_texts.of(name))


async def remarks(app: AppState, params: path_parameters.OneRun) -> wire_types.ReviewList:
    name = await find_run(app, params.run)
    return wire_types.ReviewList(task=name, reviews=await reviews_in(app.project, [name]))


async def _merged(app: AppState, name: RunId) -> str:
    """Return the commit that merged its work into the target branch; "" if there is none."""
    below = [head.run for head in app.live_runs.heads if head.parent == name]
    for run in reversed(below):
        closed = (await app.live_runs.run(run)).state.closed
        if closed is not None and "commit" in closed.facts:
            return closed.facts["commit"]
    return ""
