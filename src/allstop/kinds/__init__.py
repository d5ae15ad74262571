"""The table of the kinds of runs: one entry per kind, loaded when a run of it is met."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from allstop.core.run import Pilot
from allstop.views.kind import Kind


class Kinds(Mapping[str, Kind]):
    """Loads each entry when it is first used: a command that lists tasks needs only the board's."""

    def __init__(self, table: Mapping[str, Callable[[], Kind]]) -> None:
        self._table = table
        self._loaded: dict[str, Kind] = {}

    def __getitem__(self, name: str) -> Kind:
        if name not in self._loaded:
            self._loaded[name] = self._table[name]()
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class Pilots(Mapping[str, Pilot[Any]]):
    """The pilot of each kind of a table."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._kinds = kinds

    def __getitem__(self, name: str) -> Pilot[Any]:
        return self._kinds[name].pilot

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


def _board() -> Kind:
    from allstop.kinds.board import BoardKind

    return BoardKind()


def _task() -> Kind:
    from allstop.kinds.task import TaskKind

    return TaskKind()


def _merge() -> Kind:
    from allstop.kinds.merge import MergeKind

    return MergeKind()


def _room() -> Kind:
    from allstop.kinds.room import RoomKind

    return RoomKind()


def _auto() -> Kind:
    from allstop.kinds.auto import AutoKind

    return AutoKind()


KINDS: Mapping[str, Kind] = Kinds(
    {"board": _board, "task": _task, "merge": _merge, "room": _room, "auto": _auto}
)
"""The kinds that the program has by itself; its entry point can be given another table."""
PILOTS: Mapping[str, Pilot[Any]] = Pilots(KINDS)
