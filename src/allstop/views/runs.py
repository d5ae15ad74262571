"""A run as people see it: its status, the reason, and whether it needs a person."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from allstop.core import run as runs
from allstop.core.asks import describe_with_options
from allstop.core.brakes import Tally
from allstop.core.helm import Helm, Hold
from allstop.core.ids import RunId
from allstop.core.moves import TakeTurn, Wait
from allstop.core.run import RunState
from allstop.core.text import one_line
from allstop.views.kind import Kind
from allstop.views.log import describe, with_time
from allstop.views.waits import RunWait, run_wait


class RunView(Struct, frozen=True, gc=False, kw_only=True):
    """The state of a run as people see it."""

    id: RunId
    kind: str
    title: str
    status: str
    reason: str
    needs_you: bool
    opened_at: datetime
    tally: Tally
    parent: RunId | None = None
    outcome: str | None = None
    driven: bool = False  # a process drives it
    warning: str = ""  # a problem that doesn't stop it
    resume: str = ""  # the command that continues it
    actions: tuple[str, ...] = ()  # the commands that the run accepts now, the best first
    wait: RunWait | None = None  # none: it works, or waits for nothing


def view(
    run: RunId,
    kind: Kind,
    state: RunState[Any],
    *,
    helm: Helm,
    now: datetime,
    driven: bool,
    last_at: datetime | None = None,  # of its last event, if known
    queued: str = "",  # the slot or the worker that it waits for, if that is known
) -> RunView:
    status, reason, needs_you = _status(run, kind, state, helm, now, driven=driven, queued=queued)
    return RunView(
        id=run,
        kind=state.opened.kind,
        title=state.opened.title,
        status=status,
        reason=one_line(reason, 500),
        needs_you=needs_you,
        opened_at=state.opened.at,
        tally=state.tally,
        parent=state.opened.parent,
        outcome=state.closed.outcome.value if state.closed else None,
        driven=driven,
        warning=kind.warning(state) if state.closed is None else "",
        resume=kind.resume_command(run, state.opened) if state.closed is None else "",
        actions=kind.actions(state, status, helm, now) if state.closed is None else (),
        wait=run_wait(
            run,
            kind,
            state,
            helm=helm,
            now=now,
            last_at=last_at,
            driven=driven,
            queued=queued,
        ),
    )


def _status(
    run: RunId,
    kind: Kind,
    state: RunState[Any],
    helm: Helm,
    now: datetime,
    *,
    driven: bool,
    queued: str,
) -> tuple[str, str, bool]:
    if state.closed is not None:
        return state.closed.outcome.value, state.closed.note, False
    hold = _stricter(helm.hold, state.hold)
    at_work = driven and state.open_move is not None
    doing = describe(state.open_move.move) if state.open_move else ""
    if hold is Hold.PAUSED and at_work:
        return "pausing", doing, False
    if hold is not Hold.NONE:
        return hold.value, "", False
    if state.asks:
        return (
            "waiting",
            "; ".join(f"asks: {describe_with_options(ask)}" for ask in state.asks.values()),
            True,
        )
    if at_work:
        return "running", doing, False
    move = runs.expected_move(kind.pilot, state, now, helm)
    if isinstance(move, Wait):
        status = "idle" if move.idle else "waiting"
        return status, with_time(move.reason, move.until, now), move.for_person
    if not driven:
        does = "end it" if state.aborting else "continue"
        resume = kind.resume_command(run, state.opened)
        return "interrupted", f"no process drives it; to {does}: {resume}", True
    coming = f"next: {describe(move)}"  # it hasn't started: it may have to wait for a slot
    if queued or (kind.pilot.needs_slots and isinstance(move, TakeTurn)):
        return "queued", queued or coming, False
    return "running", coming, False


def _stricter(one: Hold, other: Hold) -> Hold:
    order = (Hold.NONE, Hold.PAUSED, Hold.FROZEN, Hold.STOPPED)
    return max(one, other, key=order.index)
