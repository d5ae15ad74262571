"""Claims on runs: a lock file names the process that drives a run, and is freed when that ends."""

import fcntl
import os
import sys
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from allstop.core.ids import RunId
from allstop.ports import Clock, HeldError, Holder

_SUFFIX = ".lock"

MAX_TRIES = 2000
WAIT_S = 0.001
"""Between tries while a reader has its shared lock; on a busy machine it may have it for long."""


class Claims:
    """A folder of lock files. The kernel frees a lock when its holder ends, however it ends."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._clock = clock

    @contextmanager
    def claim(self, run: RunId) -> Iterator[None]:
        fd = os.open(self._path(run), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _lock_exclusively(fd):
                raise HeldError(run, _holder(fd))
            os.ftruncate(fd, 0)
            os.pwrite(fd, msgspec.json.encode(self._own_entry()), 0)
            yield
        finally:
            os.close(fd)  # the file stays: removing it could remove another process's lock

    def sweep(self, runs: Container[RunId]) -> None:
        """Remove the lock files of runs that are never driven again."""
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if RunId(unquote(path.name.removesuffix(_SUFFIX))) in runs:
                with suppress(OSError):
                    path.unlink()

    def holders(self) -> dict[RunId, Holder | None]:
        """Return the runs that this process or another drives."""
        found = {}
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with suppress(FileNotFoundError):
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    if not _try_lock(fd, fcntl.LOCK_SH):
                        found[RunId(unquote(path.name.removesuffix(_SUFFIX)))] = _holder(fd)
                finally:
                    os.close(fd)
        return found

    def _path(self, run: RunId) -> Path:
        return self._folder / f"{quote(run, safe='')}{_SUFFIX}"

    def _own_entry(self) -> Holder:
        return Holder(
            pid=os.getpid(),
            host=os.uname().nodename,
            command=" ".join(["allstop", *sys.argv[1:]])[:200],
            since=self._clock.now(),
        )


def _try_lock(fd: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_exclusively(fd: int) -> bool:
    """Take the exclusive lock; a reader's shared lock lasts a moment and is waited for."""
    for _ in range(MAX_TRIES):
        if _try_lock(fd):
            return True
        if not _try_lock(fd, fcntl.LOCK_SH):
            return False
        fcntl.flock(fd, fcntl.LOCK_UN)
        time.sleep(WAIT_S)
    return False


def _holder(fd: int) -> Holder | None:
    """Read the holder; None while it is still writing its entry."""
    try:
        return msgspec.json.decode(os.pread(fd, 4096, 0), type=Holder)
    except msgspec.DecodeError:
        return None
