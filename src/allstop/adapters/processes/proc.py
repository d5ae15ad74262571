"""Reads process information from /proc and sends signals that can't reach a wrong process.

Uses only the standard library, because the unboxed supervisor runs it without other packages.
"""

import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
ENDED = "ZX"  # ended; only its pid is still in use
STOPPED = "Tt"
ASLEEP = "D"  # can't be signalled now, but handles the signal before it continues
NO_GROUP = "-1"  # the process was reaped while the kernel wrote this line; it has no parent either
RESUME_ROUNDS = 10
MAX_BYTES = 64 * 1024


class Stat(NamedTuple):
    state: str
    parent: int
    started: str  # ticks since boot: together with the pid it identifies a process


def stat_of(pid: int) -> Stat | None:
    try:
        text = _read(f"/proc/{pid}/stat").decode(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(") ")[2].split()  # the name before it may contain any characters
    if len(fields) < 20 or fields[2] == NO_GROUP:
        return None
    return Stat(state=fields[0], parent=int(fields[1]), started=fields[19])


def children_of(pid: int) -> list[int]:
    """Return its current children; some may be missing while processes start and end."""
    found: list[int] = []
    with suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, _read(f"{task}/children").split())
    return found


def family_of(pid: int) -> Iterator[tuple[int, int]]:
    """Yield everything below a process, parents first, each with its parent."""
    children = children_of if _kernel_lists_children() else _snapshot().__getitem__
    todo = [pid]
    while todo:
        parent = todo.pop()
        for child in children(parent):
            yield child, parent
            todo.append(child)


def signal_child(child: int, parent: int, number: signal.Signals) -> bool:
    """Signal a process if it still is that parent's child.

    An open pidfd keeps the pid from being reused.
    """
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
    """Stop everything below a process; returns whether anything could still run."""
    found = False
    for child, parent in family_of(pid):
        stat = stat_of(child)
        if stat is None or stat.state in STOPPED + ENDED:
            continue
        sent = signal_child(child, parent, signal.SIGSTOP)
        found = found or not sent or stat.state != ASLEEP
    return found


def kill_family(pid: int) -> bool:
    """Kill everything below a process; returns whether there was anything."""
    found = False
    for child, parent in list(family_of(pid)):
        stat = stat_of(child)
        if stat is not None and stat.state not in ENDED:
            found = True
            signal_child(child, parent, signal.SIGKILL)
    return found


def resume_family(pid: int) -> None:
    """Continue everything below a process, children first: a resumed parent may end and lose them.

    Processes that aren't stopped are signalled too: a SIGSTOP may be pending for them.
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
    """Read a small file; a Path object would cost ten times as much."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(number, MAX_BYTES)
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
