"""Boxes whose driver is gone.

A box ends with its driver, but for one instant: when the driver is killed just as bwrap has
made the namespace and not yet told its child to go on, that child waits for ever. Nothing has
run in it, and nothing will; but it is there until someone ends it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from allstop.adapters.processes.identity import Identity, identify, is_alive, ourselves, world
from allstop.adapters.processes.process_handle import Hold

TAG = "allstop-box-of"


def tag() -> str:
    """A word for a box's command line that says who drives it."""
    driver = ourselves()
    return f"{TAG}-{driver.pid}-{driver.started}-{driver.world}"


def end_orphans() -> None:
    for pid in _orphans():
        identity = identify(pid)
        hold = Hold.take(identity) if identity else None
        if hold:
            hold.send(signal.SIGKILL)
            hold.close()


def _orphans() -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            driver = _driver((entry / "cmdline").read_bytes().split(b"\0"))
            if driver and driver.world == world() and not is_alive(driver):
                yield int(entry.name)


def _driver(words: list[bytes]) -> Identity | None:
    """Who drives it, if it is a bwrap of ours."""
    if not words[0].endswith(b"bwrap"):
        return None
    for word in words:
        if word.startswith(f"{TAG}-".encode()):
            pid, started, there = word.decode().removeprefix(f"{TAG}-").split("-", 2)
            return Identity(pid=int(pid), started=started, world=there)
    return None
