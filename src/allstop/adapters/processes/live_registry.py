"""The trees that live, written down so that another process can put them down."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from allstop.adapters.processes.identity import (
    Identity,
    identify,
    is_alive,
    is_of_another_namespace,
)
from allstop.adapters.processes.orphaned_boxes import end_orphans
from allstop.adapters.processes.proc import kill_family
from allstop.adapters.processes.process_handle import Hold
from allstop.core.events import Killed

PUT_DOWN_WITHIN_S = 5.0
SIZE_AT_MOST = 64 * 1024


class Kind(StrEnum):
    BOX = "box"  # the root is the first process of a namespace: nothing in it outlives it
    BARE = "bare"  # the root is a keeper: what it keeps has to be killed first


class Record(Struct, frozen=True, kw_only=True):
    label: str
    kind: Kind
    root: Identity
    driver: Identity


def recorded(directory: Path) -> tuple[Record, ...]:
    """Those that are written down and alive."""
    return tuple(record for _, record in _read(directory) if record and is_alive(record.root))


def _any(label: str) -> bool:
    return True


def put_down_recorded(
    directory: Path, within_s: float = PUT_DOWN_WITHIN_S, wanted: Callable[[str], bool] = _any
) -> tuple[Killed, ...]:
    """Kill every recorded tree whose label is wanted, wait until it is gone, and clear up what is
    out of date.

    What could not be killed in time keeps its record.
    """
    until = time.monotonic() + within_s
    killed: list[Killed] = []
    with ExitStack() as holds:
        struck = list(_strike_all(directory, holds, wanted))
        for path, record, hold in struck:
            if _is_gone(record, hold, until):
                killed.append(Killed(label=record.label, pid=record.root.pid))
                _remove(path)
    end_orphans()
    _sweep(directory)
    return tuple(killed)


def _strike_all(
    directory: Path, holds: ExitStack, wanted: Callable[[str], bool]
) -> Iterator[tuple[Path, Record, Hold]]:
    for path, record in _read(directory):
        if record and (is_of_another_namespace(record.root) or not wanted(record.label)):
            continue
        hold = Hold.take(record.root) if record else None
        if record is None or hold is None:
            _remove(path)
            continue
        holds.callback(hold.close)
        hold.send(signal.SIGKILL if record.kind is Kind.BOX else signal.SIGTERM)
        yield path, record, hold


def _is_gone(record: Record, hold: Hold, until: float) -> bool:
    if record.kind is Kind.BARE:
        while kill_family(record.root.pid) and time.monotonic() < until:
            time.sleep(0.001)
        hold.send(signal.SIGCONT)  # a keeper that was stopped hears only now that it should end
    return hold.gone(until)


def _read(directory: Path) -> Iterator[tuple[Path, Record | None]]:
    for path in sorted(directory.glob("*.json")):
        yield path, _decoded(path)


def _decoded(path: Path) -> Record | None:
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(SIZE_AT_MOST), type=Record)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _sweep(directory: Path) -> None:
    """Blank ones are left by a driver that was killed."""
    for part in directory.glob("*.part"):
        driver = part.name.partition("-")[0]
        if not (driver.isdecimal() and identify(int(driver))):
            _remove(part)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
