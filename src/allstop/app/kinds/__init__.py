"""The app's table of the kinds of runs: how each is started, driven and resumed."""

from collections.abc import Callable, Mapping

from allstop.app.supervisor import RunKind, RunKinds
from allstop.kinds import KINDS


def _board() -> RunKind:
    from allstop.app.kinds.board import BoardRunKind

    return BoardRunKind()


def _task() -> RunKind:
    from allstop.app.kinds.board import TaskRunKind

    return TaskRunKind()


def _room() -> RunKind:
    from allstop.app.kinds.room import RoomRunKind

    return RoomRunKind()


def _auto() -> RunKind:
    from allstop.app.kinds.auto import AutoRunKind

    return AutoRunKind()


def _plan() -> RunKind:
    from allstop.app.kinds.plan import PlanRunKind

    return PlanRunKind()


def _draft() -> RunKind:
    from allstop.app.kinds.draft import DraftRunKind

    return DraftRunKind()


def _start() -> RunKind:
    from allstop.app.kinds.start import StartRunKind

    return StartRunKind()


ENTRIES: Mapping[str, Callable[[], RunKind]] = {
    "board": _board,
    "task": _task,
    "room": _room,
    "auto": _auto,
    "plan": _plan,
    "draft": _draft,
    "start": _start,
}
RUN_KINDS = RunKinds(KINDS, ENTRIES)
