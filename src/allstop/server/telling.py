"""What answers and the stream both say, made from what is known of it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from allstop.app import overview
from allstop.app.rooms import thread_of
from allstop.core.approvals import Ask
from allstop.core.auto import AutoState
from allstop.core.auto_views import guards, run_plan, stop_condition
from allstop.core.board import Board
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.run import RunState
from allstop.core.talking import RoomState, Session, rounds
from allstop.core.tasks import Task
from allstop.server import shapes

if TYPE_CHECKING:
    from allstop.app.watching import Watcher


def hold_view(helm: Helm) -> shapes.HoldView:
    return shapes.HoldView(hold=helm.hold.value, since=helm.since, by=helm.by, stops=helm.stops)


async def task_view(
    watcher: Watcher, board: Board, task: Task, halted: Collection[str]
) -> overview.TaskView:
    """`halted` are the tasks that were stopped."""
    warning = await watcher.warning(task)
    return overview.view(board, task, warning, stopped=task.id in halted)


def auto_view(
    run: RunId, state: RunState[Any], helm: Helm, now: datetime
) -> shapes.AutoView | None:
    """None of a run that is no thread of Full Auto."""
    auto = state.pilot
    if not isinstance(auto, AutoState):
        return None
    return shapes.AutoView(
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


def _asking(state: RunState[Any], ask: Ask, patience_s: float | None) -> shapes.Asking:
    since = state.asked_at[ask.id]
    until = since + timedelta(seconds=patience_s) if patience_s else None
    return shapes.Asking(ask=ask, since=since, until=until)


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
