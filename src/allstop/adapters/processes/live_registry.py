"""Reads the records of live process trees, so that another process can kill the trees."""

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
from allstop.adapters.processes.process_handle import ProcessHandle
from allstop.core.events import Killed

KILL_TIMEOUT_S = 5.0
MAX_RECORD_BYTES = 64 * 1024


class TreeKind(StrEnum):
    BOX = "box"  # the root is the first process of a pid namespace: the rest ends with it
    UNBOXED = "bare"  # the root is an unboxed supervisor: its children must be killed first


class Record(Struct, frozen=True, kw_only=True):
    label: str
    kind: TreeKind
    root: Identity
    driver: Identity


def recorded_trees(directory: Path) -> tuple[Record, ...]:
    return tuple(record for _, record in _read(directory) if record and is_alive(record.root))


def kill_recorded(
    directory: Path,
    within_s: float = KILL_TIMEOUT_S,
    wanted: Callable[[str], bool] = lambda label: True,
) -> tuple[Killed, ...]:
    """Kill every recorded tree whose label is wanted, wait for its end, and remove stale records.

    A tree that could not be killed in time keeps its record.
    """
    until = time.monotonic() + within_s
    killed: list[Killed] = []
    with ExitStack() as handles:
        signalled = list(_signal_all(directory, handles, wanted))
        for path, record, handle in signalled:
            if _has_ended(record, handle, until):
                killed.append(Killed(label=record.label, pid=record.root.pid))
                _remove(path)
    end_orphans()
    _remove_stale(directory)
    return tuple(killed)


def _signal_all(
    directory: Path, handles: ExitStack, wanted: Callable[[str], bool]
) -> Iterator[tuple[Path, Record, ProcessHandle]]:
    for path, record in _read(directory):
        if record and (is_of_another_namespace(record.root) or not wanted(record.label)):
            continue
        handle = ProcessHandle.open(record.root) if record else None
        if record is None or handle is None:
            _remove(path)
            continue
        handles.callback(handle.close)
        handle.send(signal.SIGKILL if record.kind is TreeKind.BOX else signal.SIGTERM)
        yield path, record, handle


def _has_ended(record: Record, handle: ProcessHandle, until: float) -> bool:
    if record.kind is TreeKind.UNBOXED:
        while kill_family(record.root.pid) and time.monotonic() < until:
            time.sleep(0.001)
        handle.send(signal.SIGCONT)  # a stopped supervisor receives its SIGTERM only now
    return handle.wait_for_end(until)


def _read(directory: Path) -> Iterator[tuple[Path, Record | None]]:
    for path in sorted(directory.glob("*.json")):
        yield path, _decode(path)


def _decode(path: Path) -> Record | None:
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(MAX_RECORD_BYTES), type=Record)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _remove_stale(directory: Path) -> None:
    """Remove blank files of drivers that were killed."""
    for part in directory.glob("*.part"):
        driver = part.name.partition("-")[0]
        if not (driver.isdecimal() and identify(int(driver))):
            _remove(part)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
