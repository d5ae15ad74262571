"""What answers and the stream both say, made from what is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.rooms import thread_of
from allstop.core.auto import AutoState
from allstop.core.auto_views import run_plan
from allstop.core.following import Followed
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.talking import RoomState, Session, rounds
from allstop.server import shapes

if TYPE_CHECKING:
    from allstop.app.watching import Watcher


def hold_view(helm: Helm) -> shapes.HoldView:
    return shapes.HoldView(hold=helm.hold.value, since=helm.since, by=helm.by, stops=helm.stops)


def auto_view(run: RunId, followed: Followed) -> shapes.AutoView | None:
    state = followed.state.pilot
    if not isinstance(state, AutoState):
        return None
    return shapes.AutoView(
        run=run,
        plan=run_plan(state),
        agent_plan=state.plan,
        turns=state.turns,
        paused=state.paused,
        decisions=len(state.decisions),
    )


async def talk_view(watcher: Watcher, run: RunId) -> shapes.RoomSummary:
    """Of a run that is a room's thread."""
    state: RoomState = (await watcher.run(run)).state.pilot
    return shapes.RoomSummary(
        thread=thread_of(run) or "",
        run=await watcher.view(run),
        session=_session(state.session) if state.session else None,
        last=state.last,
    )


def _session(session: Session) -> shapes.SessionView:
    return shapes.SessionView(
        id=session.spec.id,
        mode=session.spec.mode.value,
        goal=session.spec.goal,
        agents=list(session.agents),
        speaker=session.speaker,
        round=session.round,
        max_rounds=rounds(session.spec),
        turns=session.turns,
        tokens=session.tokens,
        cost_usd=session.cost_microusd / 1e6,
        waits_for=session.waits_for,
        respect_final=session.spec.respect_final,
        seconds=session.ran_s,
        began=session.began,
    )
