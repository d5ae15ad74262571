"""Every kind of run there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from allstop.core.run import Pilot


def _board() -> Pilot[Any]:
    from allstop.board.board_pilot import BoardPilot

    return BoardPilot()


def _task() -> Pilot[Any]:
    from allstop.board.task_pilot import TaskPilot

    return TaskPilot()


def _merge() -> Pilot[Any]:
    from allstop.merges.pilot import MergePilot

    return MergePilot()


def _room() -> Pilot[Any]:
    from allstop.rooms.pilot import RoomPilot

    return RoomPilot()


def _auto() -> Pilot[Any]:
    from allstop.auto.pilot import AutoPilot

    return AutoPilot()


class _Pilots(Mapping[str, Pilot[Any]]):
    """Each is loaded when a run of its kind is met: whoever looks at a board needs no other."""

    def __init__(self, table: Mapping[str, Callable[[], Pilot[Any]]]) -> None:
        self._table = table
        self._loaded: dict[str, Pilot[Any]] = {}

    def __getitem__(self, kind: str) -> Pilot[Any]:
        if kind not in self._loaded:
            self._loaded[kind] = self._table[kind]()
        return self._loaded[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


PILOTS: Mapping[str, Pilot[Any]] = _Pilots(
    {"board": _board, "task": _task, "merge": _merge, "room": _room, "auto": _auto}
)
