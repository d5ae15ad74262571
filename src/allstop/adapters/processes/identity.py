"""A process named so that no later one can be taken for it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from allstop.adapters.processes.proc import GONE, stat_of

PID_AT_MOST = 1 << 22
NAMESPACE = Path("/proc/self/ns/pid")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Identity(Struct, frozen=True, kw_only=True):
    pid: Annotated[int, Meta(gt=1, le=PID_AT_MOST)]
    started: str
    world: str  # the boot and the namespace in which the number counts


def identify(pid: int) -> Identity | None:
    """None when there is no such process any more."""
    started = _started(pid)
    return Identity(pid=pid, started=started, world=world()) if started else None


@cache
def ourselves() -> Identity:
    found = identify(os.getpid())
    assert found is not None
    return found


def is_alive(identity: Identity) -> bool:
    return identify(identity.pid) == identity


@cache
def world() -> str:
    if sys.platform != "linux":
        return _said_by("sysctl", "-n", "kern.bootsessionuuid")
    return f"{BOOT_ID.read_text().strip()}/{NAMESPACE.stat().st_ino}"


def is_of_another_namespace(identity: Identity) -> bool:
    """Of a container, say, that shares our folder: nobody here can tell whether it lives."""
    boot, _, namespace = world().partition("/")
    return identity.world.startswith(f"{boot}/") and identity.world != f"{boot}/{namespace}"


def _started(pid: int) -> str | None:
    if sys.platform != "linux":
        return _said_by("ps", "-o", "lstart=", "-p", str(pid)) or None
    stat = stat_of(pid)
    return stat.started if stat and stat.state not in GONE else None


def _said_by(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
