"""Processes as the kernel tells of them, and signals that hit no stranger.

Only the standard library: the keeper runs this without anything else.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
GONE = "ZX"  # ended; only its number is still there
STOPPED = "Tt"
ASLEEP = "D"  # takes no signal now, but heeds it before it does anything else
NO_GROUP = "-1"  # nor a parent: it was waited for while the kernel wrote down the rest
RESUME_ROUNDS = 10
SMALL = 64 * 1024


class Stat(NamedTuple):
    state: str
    parent: int
    started: str  # ticks since boot: with the number it names a process for good


def stat_of(pid: int) -> Stat | None:
    try:
        text = _read(f"/proc/{pid}/stat").decode(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(") ")[2].split()  # the name before it may hold anything
    if len(fields) < 20 or fields[2] == NO_GROUP:
        return None
    return Stat(state=fields[0], parent=int(fields[1]), started=fields[19])


def children_of(pid: int) -> list[int]:
    """Its children now; some may be missing while the others come and go."""
    found: list[int] = []
    with suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, _read(f"{task}/children").split())
    return found


def family_of(pid: int) -> Iterator[tuple[int, int]]:
    """Everything below a process, parents first, each with its parent."""
    children = children_of if _kernel_lists_children() else _snapshot().__getitem__
    todo = [pid]
    while todo:
        parent = todo.pop()
        for child in children(parent):
            yield child, parent
            todo.append(child)


def signal_child(child: int, parent: int, number: signal.Signals) -> bool:
    """Signal it if it still is that parent's child; by then the number can't be another's."""
    try:
        handle = os.pidfd_open(child)
    except OSError:
        return False
    try:
        stat = stat_of(child)
        if stat is None or stat.parent != parent:
            return False
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(handle, number)
        return True
    finally:
        os.close(handle)


def halt_family(pid: int) -> bool:
    """Stop everything below it that isn't stopped; whether anything could still act."""
    found = False
    for child, parent in family_of(pid):
        stat = stat_of(child)
        if stat is None or stat.state in STOPPED + GONE:
            continue
        sent = signal_child(child, parent, signal.SIGSTOP)
        found = found or not sent or stat.state != ASLEEP
    return found


def kill_family(pid: int) -> bool:
    """Kill everything below it; whether there was anything."""
    found = False
    for child, parent in list(family_of(pid)):
        stat = stat_of(child)
        if stat is not None and stat.state not in GONE:
            found = True
            signal_child(child, parent, signal.SIGKILL)
    return found


def resume_family(pid: int) -> None:
    """Children first: who moves may end, and its children would be another's.

    Those that are not stopped too: a stop may be waiting for them to wake.
    """
    for _ in range(RESUME_ROUNDS):
        family = list(family_of(pid))
        stopped = [child for child, _ in family if _is_stopped(child)]
        for child, parent in reversed(family):
            signal_child(child, parent, signal.SIGCONT)
        if not stopped:
            return


def _is_stopped(pid: int) -> bool:
    stat = stat_of(pid)
    return stat is not None and stat.state in STOPPED


def _read(path: str) -> bytes:
    """All of a small file; a path object would cost ten times as much."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(number, SMALL)
    finally:
        os.close(number)


def _kernel_lists_children() -> bool:
    return sys.platform == "linux" and (PROC / "self/task" / str(os.getpid()) / "children").exists()


def _snapshot() -> defaultdict[int, list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    if PROC.is_dir():
        for entry in PROC.iterdir():
            if entry.name.isdecimal() and (stat := stat_of(int(entry.name))):
                found[stat.parent].append(int(entry.name))
    return found
