"""A wait as people see it: on what, since when, until when, and the command that changes it."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from allstop.core import run as runs
from allstop.core.asks import answer_command, describe_with_options
from allstop.core.helm import Helm, Hold
from allstop.core.ids import BOARD, RunId, label_of, root_of
from allstop.core.moves import Wait
from allstop.core.run import RunState
from allstop.core.text import one_line
from allstop.views.inbox import OpenRun, wait_command
from allstop.views.kind import Kind

HELD = {Hold.PAUSED: "a pause", Hold.FROZEN: "a freeze", Hold.STOPPED: "an Allstop"}


class RunWait(Struct, frozen=True, gc=False, kw_only=True):
    on: str
    since: datetime | None = None
    until: datetime | None = None  # none: until somebody acts, or other work ends
    do: str = ""


def run_wait(
    run: RunId,
    kind: Kind,
    state: RunState[Any],
    *,
    helm: Helm,
    now: datetime,
    last_at: datetime | None,
    driven: bool,
    queued: str = "",
) -> RunWait | None:
    """What an open run waits for; None if it works, or waits for nothing."""
    if state.closed is not None:
        return None
    called = label_of(run) if root_of(run) == BOARD else run
    if helm.hold is not Hold.NONE:
        since = max(filter(None, [helm.since, last_at]), default=None)
        return RunWait(on=f"{HELD[helm.hold]} of all runs", since=since, do="allstop resume")
    if state.hold is not Hold.NONE:
        is_task = root_of(run) == BOARD
        do = f"allstop resume {called}" if is_task else kind.resume_command(run, state.opened)
        return RunWait(on=HELD[state.hold], since=last_at, do=do)
    if state.asks:
        name, ask = next(iter(state.asks.items()))
        do = answer_command(called, ask)
        return RunWait(
            on=describe_with_options(ask), since=state.asked_at.get(name, last_at), do=do
        )
    if driven and state.open_move is not None:
        return None
    move = runs.expected_move(kind.pilot, state, now, helm)
    if isinstance(move, Wait):
        return None if move.idle else _pilot_wait(run, kind, state, move, now, last_at, driven)
    if not driven:
        do = kind.resume_command(run, state.opened)
        return RunWait(on="a process that drives it", since=last_at, do=do)
    if queued:
        return RunWait(on=queued, since=last_at, do=f"allstop pause {called}")
    return None


def _pilot_wait(
    run: RunId,
    kind: Kind,
    state: RunState[Any],
    wait: Wait,
    now: datetime,
    last_at: datetime | None,
    driven: bool,  # noqa: FBT001
) -> RunWait:
    called = label_of(run) if root_of(run) == BOARD else run
    do = kind.hurry_command(called, state)
    if wait.for_person:
        at = last_at or state.opened.at
        do = wait_command(OpenRun(run, kind, state, at, driven), wait, now)
    return RunWait(on=one_line(wait.reason, 500), since=last_at, until=wait.until, do=do)
