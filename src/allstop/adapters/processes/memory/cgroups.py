"""Cgroups in which the kernel limits the memory of all processes of a box together.

This works only if a cgroup around this process delegates the memory controller and lets it create
children and move processes into them. Root has that, and programs started by a desktop; a login
over SSH may not.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path

from allstop.adapters.processes.identity import Identity, current_world, is_alive, own_identity

TAG = "allstop-box-of"
TRIAL_MB = 64


class Cgroup:
    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, pid: int) -> None:
        """Move a process into it; children that it starts later are in it too.

        Raises OSError if the process has ended, or the kernel refuses.
        """
        (self._path / "cgroup.procs").write_text(str(pid))

    @property
    def was_out_of_memory(self) -> bool:
        """Whether the kernel killed processes in it because they reached the limit."""
        with suppress(OSError):
            events = dict(map(str.split, (self._path / "memory.events").read_text().splitlines()))
            return int(events.get("oom_kill", 0)) > 0
        return False

    def kill(self) -> None:
        with suppress(OSError):  # the file exists since Linux 5.14
            (self._path / "cgroup.kill").write_text("1")

    def remove(self) -> bool:
        """Remove the cgroup; False while a process in it is still ending."""
        try:
            self._path.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


class Cgroups:
    def __init__(self, parent: Path) -> None:
        self.parent = parent
        self._numbers = count(1)

    def make(self, max_mb: int) -> Cgroup:
        """Raises OSError if the cgroup can't be created."""
        driver = own_identity()
        home = driver.world.replace("/", "+")
        path = self.parent / f"{TAG}-{driver.pid}-{driver.started}-{home}-{next(self._numbers)}"
        path.mkdir()
        cgroup = Cgroup(path)
        try:
            (path / "memory.max").write_text(str(max_mb << 20))
            (path / "memory.oom.group").write_text("1")  # kill all of a box, not a part
            with suppress(FileNotFoundError):  # a kernel without swap
                (path / "memory.swap.max").write_text("0")
        except OSError:
            cgroup.remove()
            raise
        return cgroup

    def are_usable(self) -> bool:
        try:
            cgroup = self.make(TRIAL_MB)
        except OSError:
            return False
        trial = subprocess.Popen(("/bin/sh", "-c", "read -r go"), stdin=subprocess.PIPE)
        try:
            cgroup.add(trial.pid)
        except OSError:
            return False
        finally:
            trial.communicate()
            cgroup.remove()
        return True

    def sweep(self) -> None:
        """Remove cgroups whose driver was killed; their boxes have ended with it."""
        for path in self.parent.glob(f"{TAG}-*"):
            driver = _driver(path.name)
            if driver and driver.world == current_world() and not is_alive(driver):
                cgroup = Cgroup(path)
                cgroup.kill()
                cgroup.remove()


def _driver(name: str) -> Identity | None:
    try:
        pid, started, rest = name.removeprefix(f"{TAG}-").split("-", 2)
        home = rest.rpartition("-")[0]
        return Identity(pid=int(pid), started=started, world=home.replace("+", "/"))
    except ValueError:
        return None


@cache
def find_cgroups(pid: int) -> Cgroups | None:
    """Find a usable parent by trying, once per process."""
    for path in _delegated_parents():
        cgroups = Cgroups(path)
        if cgroups.are_usable():
            cgroups.sweep()
            return cgroups
    return None


def own_cgroups() -> Cgroups | None:
    """Return the cgroups of this process; None if it may not create any."""
    return find_cgroups(os.getpid())


def _delegated_parents() -> Iterator[Path]:
    """Yield the cgroups around this process that delegate memory, the innermost first."""
    with suppress(OSError, ValueError):
        top, shown = _cgroup_mount()
        inner = top / Path(_own_cgroup()).relative_to(shown)
        for path in (inner, *inner.parents):
            if not path.is_relative_to(top):
                return
            if "memory" in (path / "cgroup.subtree_control").read_text().split():
                yield path


def _own_cgroup() -> str:
    """Return the cgroup of this process. Raises ValueError if there is none."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return line.removeprefix("0::")
    raise ValueError("no cgroup2")


def _cgroup_mount() -> tuple[Path, str]:
    """Return the mount point of cgroup2, and the cgroup that is at its top.

    Raises ValueError if it isn't mounted.
    """
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            fields = before.split()
            return Path(fields[4]), fields[3]
    raise ValueError("no cgroup2")
