"""Identifies a process by pid, start time and boot, so that a reused pid isn't mistaken for it."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from allstop.adapters.processes.proc import ENDED, stat_of

MAX_PID = 1 << 22
NAMESPACE = Path("/proc/self/ns/pid")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Identity(Struct, frozen=True, kw_only=True):
    pid: Annotated[int, Meta(gt=1, le=MAX_PID)]
    started: str
    world: str  # the boot and the pid namespace in which the pid is valid


def identify(pid: int) -> Identity | None:
    """Return the identity of a live process; None if it has ended."""
    started = _started(pid)
    return Identity(pid=pid, started=started, world=current_world()) if started else None


@cache
def own_identity() -> Identity:
    found = identify(os.getpid())
    assert found is not None
    return found


def is_alive(identity: Identity) -> bool:
    return identify(identity.pid) == identity


@cache
def current_world() -> str:
    if sys.platform != "linux":
        return _output_of("sysctl", "-n", "kern.bootsessionuuid")
    return f"{BOOT_ID.read_text().strip()}/{NAMESPACE.stat().st_ino}"


def is_of_another_namespace(identity: Identity) -> bool:
    """Whether it runs in another pid namespace, such as a container that shares the project folder.

    It can't be checked from here whether such a process is alive.
    """
    boot, _, namespace = current_world().partition("/")
    return identity.world.startswith(f"{boot}/") and identity.world != f"{boot}/{namespace}"


def _started(pid: int) -> str | None:
    if sys.platform != "linux":
        return _output_of("ps", "-o", "lstart=", "-p", str(pid)) or None
    stat = stat_of(pid)
    return stat.started if stat and stat.state not in ENDED else None


def _output_of(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
