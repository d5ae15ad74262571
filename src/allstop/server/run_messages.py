"""What answers and the stream both say, made from what is known of it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from allstop.app.board import overview
from allstop.app.rooms.threads import thread_of
from allstop.auto.state import AutoState
from allstop.board.graph import Board
from allstop.core.asks import Ask
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.run import RunState
from allstop.core.tasks import Task
from allstop.rooms.session import RoomState, Session, max_rounds
from allstop.server import wire_types
from allstop.views.auto import guards, run_plan, stop_condition

if TYPE_CHECKING:
    from allstop.app.live_runs import LiveRuns


def hold_view(helm: Helm) -> wire_types.HoldView:
    return wire_types.HoldView(hold=helm.hold.value, since=helm.since, by=helm.by, stops=helm.stops)


async def task_view(
    live_runs: LiveRuns, board: Board, task: Task, halted: Collection[str]
) -> overview.TaskView:
    """`halted` are the tasks that were stopped."""
    warning = await live_runs.warning(task)
    return overview.view(board, task, warning, stopped=task.id in halted)


def auto_view(
    run: RunId, state: RunState[Any], helm: Helm, now: datetime
) -> wire_types.AutoView | None:
    """None of a run that is no thread of Full Auto."""
    auto = state.pilot
    if not isinstance(auto, AutoState):
        return None
    return wire_types.AutoView(
        run=run,
        agent=auto.spec.agent,
        policy=auto.spec.policy.value,
        plan=run_plan(auto, stop_condition(state, helm, now)),
        agent_plan=auto.doing.plan if auto.doing else auto.plan,
        turns=auto.turns,
        paused=auto.paused,
        condition=stop_condition(state, helm, now),
        guards=guards(auto),
        decisions=len(auto.decisions),
        decision=auto.decision,
        asks=[_asking(state, ask, auto.spec.ask_s) for ask in state.asks.values()],
        limits=state.limits,
    )


def _asking(state: RunState[Any], ask: Ask, patience_s: float | None) -> wire_types.Asking:
    since = state.asked_at[ask.id]
    until = since + timedelta(seconds=patience_s) if patience_s else None
    return wire_types.Asking(ask=ask, since=since, until=until)


async def talk_view(live_runs: LiveRuns, run: RunId) -> wire_types.RoomSummary:
    """Of a run that is a room's thread."""
    state: RoomState = (await live_runs.run(run)).state.pilot
    return wire_types.RoomSummary(
        thread=thread_of(run) or "",
        run=await live_runs.view(run),
        session=_session(state.session) if state.session else None,
        last=state.last,
    )


def _session(session: Session) -> wire_types.SessionView:
    return wire_types.SessionView(
        id=session.spec.id,
        mode=session.spec.mode.value,
        goal=session.spec.goal,
        agents=list(session.agents),
        speaker=session.speaker,
        round=session.round,
        max_rounds=max_rounds(session.spec),
        turns=session.turns,
        tokens=session.tokens,
        cost_usd=session.cost_microusd / 1e6,
        waits_for=session.waits_for,
        respect_final=session.spec.respect_final,
        seconds=session.ran_s,
        began=session.began,
    )
