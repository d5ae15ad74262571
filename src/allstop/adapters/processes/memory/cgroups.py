"""Cgroups in which the kernel bounds the memory of all processes together.

Only where somebody has prepared it: one of those around us hands memory on to those below it, and
lets us make one there and move a process into it. That is so for root, and for programs that a
desktop starts; a login over SSH may not.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path

from allstop.adapters.processes.identity import Identity, is_alive, ourselves, world

TAG = "allstop-box-of"
TRIAL_MB = 64


class Group:
    """For one box."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def take_in(self, pid: int) -> None:
        """It, and all that it will start.

        Raises:
            OSError: it is gone, or the kernel doesn't want to.
        """
        (self._place / "cgroup.procs").write_text(str(pid))

    @property
    def has_overrun(self) -> bool:
        """Whether the kernel has ended what was in it, for there was no more to be had."""
        with suppress(OSError):
            events = dict(map(str.split, (self._place / "memory.events").read_text().splitlines()))
            return int(events.get("oom_kill", 0)) > 0
        return False

    def kill(self) -> None:
        """Everything in it, at once."""
        with suppress(OSError):  # before Linux 5.14 there is no such file
            (self._place / "cgroup.kill").write_text("1")

    def remove(self) -> bool:
        """Whether it is gone; while something in it still ends, it can't be."""
        try:
            self._place.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


class Groups:
    def __init__(self, above: Path) -> None:
        self.above = above
        self._numbers = count(1)

    def make(self, most_mb: int) -> Group:
        """
        Raises:
            OSError: it can't be made any more.
        """
        driver = ourselves()
        home = driver.world.replace("/", "+")
        place = self.above / f"{TAG}-{driver.pid}-{driver.started}-{home}-{next(self._numbers)}"
        place.mkdir()
        group = Group(place)
        try:
            (place / "memory.max").write_text(str(most_mb << 20))
            (place / "memory.oom.group").write_text("1")  # half a box is of no use
            with suppress(FileNotFoundError):  # where the kernel knows no swap
                (place / "memory.swap.max").write_text("0")
        except OSError:
            group.remove()
            raise
        return group

    def works(self) -> bool:
        try:
            group = self.make(TRIAL_MB)
        except OSError:
            return False
        trial = subprocess.Popen(("/bin/sh", "-c", "read -r go"), stdin=subprocess.PIPE)
        try:
            group.take_in(trial.pid)
        except OSError:
            return False
        finally:
            trial.communicate()
            group.remove()
        return True

    def sweep(self) -> None:
        """Remove those whose driver was killed; their boxes have ended with it."""
        for place in self.above.glob(f"{TAG}-*"):
            driver = _driver(place.name)
            if driver and driver.world == world() and not is_alive(driver):
                group = Group(place)
                group.kill()
                group.remove()


def _driver(name: str) -> Identity | None:
    try:
        pid, started, rest = name.removeprefix(f"{TAG}-").split("-", 2)
        home = rest.rpartition("-")[0]
        return Identity(pid=int(pid), started=started, world=home.replace("+", "/"))
    except ValueError:
        return None


@cache
def groups_here(pid: int) -> Groups | None:
    """Found out by trying, once for each process that asks."""
    for place in _around_us():
        groups = Groups(place)
        if groups.works():
            groups.sweep()
            return groups
    return None


def our_groups() -> Groups | None:
    """Those of this process; None where the kernel can't be asked to bound memory."""
    return groups_here(os.getpid())


def _around_us() -> Iterator[Path]:
    """The cgroups that we are in and that hand memory on, the innermost first."""
    with suppress(OSError, ValueError):
        top, shown = _mounted()
        inner = top / Path(_ours()).relative_to(shown)
        for place in (inner, *inner.parents):
            if not place.is_relative_to(top):
                return
            if "memory" in (place / "cgroup.subtree_control").read_text().split():
                yield place


def _ours() -> str:
    """The one that we are in.

    Raises:
        ValueError: none.
    """
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return line.removeprefix("0::")
    raise ValueError("no cgroup2")


def _mounted() -> tuple[Path, str]:
    """Where they are shown, and which of them is at the top there.

    Raises:
        ValueError: nowhere.
    """
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            fields = before.split()
            return Path(fields[4]), fields[3]
    raise ValueError("no cgroup2")
