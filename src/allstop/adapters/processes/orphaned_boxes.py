"""Ends boxes whose driver was killed.

A box normally ends with its driver. There is one gap: if the driver is killed after bwrap made the
namespace and before it told its child to continue, that child waits forever. No program runs in it,
but it stays until someone kills it.
"""

import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from allstop.adapters.processes.identity import (
    Identity,
    current_world,
    identify,
    is_alive,
    own_identity,
)
from allstop.adapters.processes.process_handle import ProcessHandle

TAG = "allstop-box-of"


def tag() -> str:
    """Return a word for a box's command line that identifies its driver."""
    driver = own_identity()
    return f"{TAG}-{driver.pid}-{driver.started}-{driver.world}"


def end_orphans() -> None:
    for pid in _orphans():
        identity = identify(pid)
        handle = ProcessHandle.open(identity) if identity else None
        if handle:
            handle.send(signal.SIGKILL)
            handle.close()


def _orphans() -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            driver = _driver((entry / "cmdline").read_bytes().split(b"\0"))
            if driver and driver.world == current_world() and not is_alive(driver):
                yield int(entry.name)


def _driver(words: list[bytes]) -> Identity | None:
    """Return the driver of a bwrap process that Allstop started; None for other processes."""
    if not words[0].endswith(b"bwrap"):
        return None
    for word in words:
        if word.startswith(f"{TAG}-".encode()):
            pid, started, there = word.decode().removeprefix(f"{TAG}-").split("-", 2)
            return Identity(pid=int(pid), started=started, world=there)
    return None
