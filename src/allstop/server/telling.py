"""What answers and the stream both say, made from what is known of it."""

from __future__ import annotations

from allstop.core.auto import AutoState
from allstop.core.auto_views import run_plan
from allstop.core.following import Followed
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.server import shapes


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
