"""The table of the kinds of runs: one entry per kind, loaded at first use."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from allstop.core.run import Pilot
from allstop.views.kind import Kind

T = TypeVar("T")


class LazyTable(Mapping[str, T]):
    """Loads each entry at first use: a command that lists tasks needs only the board's."""

    def __init__(self, loaders: Mapping[str, Callable[[], T]]) -> None:
        self._loaders = loaders
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = self._loaders[name]()
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._loaders

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaders)

    def __len__(self) -> int:
        return len(self._loaders)


def pilots_of(kinds: Mapping[str, Kind]) -> Mapping[str, Pilot[Any]]:
    return LazyTable({name: partial(lambda each: kinds[each].pilot, name) for name in kinds})


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


def _plan() -> Kind:
    from allstop.kinds.plan import PlanKind

    return PlanKind()


def _draft() -> Kind:
    from allstop.kinds.draft import DraftKind

    return DraftKind()


def _start() -> Kind:
    from allstop.kinds.start import StartKind

    return StartKind()


KINDS: Mapping[str, Kind] = LazyTable(
    {
        "board": _board,
        "task": _task,
        "merge": _merge,
        "room": _room,
        "auto": _auto,
        "plan": _plan,
        "draft": _draft,
        "start": _start,
    }
)
"""The built-in kinds; the entry point accepts another table."""
PILOTS: Mapping[str, Pilot[Any]] = pilots_of(KINDS)
