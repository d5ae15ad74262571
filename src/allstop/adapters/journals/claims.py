"""Who drives what: a lock that names its holder and dies with it."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from allstop.core.ids import RunId
from allstop.ports import Clock, HeldError, Holder

_SUFFIX = ".lock"

LOOKS = 10_000
"""So often others may be looking just now, before one of them is taken for somebody who hangs."""


class Claims:
    """A folder of lock files. The kernel frees a lock when its holder is gone, however it went."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._clock = clock

    @contextmanager
    def claim(self, run: RunId) -> Iterator[None]:
        fd = os.open(self._path(run), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _locked_for_good(fd):
                raise HeldError(run, _holder(fd))
            os.ftruncate(fd, 0)
            os.pwrite(fd, msgspec.json.encode(self._me()), 0)
            yield
        finally:
            os.close(fd)  # the file stays: taking it away could take away another's lock

    def sweep(self, runs: Container[RunId]) -> None:
        """Remove the files of runs that nobody will drive again."""
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if RunId(unquote(path.name.removesuffix(_SUFFIX))) in runs:
                with suppress(OSError):
                    path.unlink()

    def holders(self) -> dict[RunId, Holder | None]:
        """The runs that are being driven now, by this process or another."""
        found = {}
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with suppress(FileNotFoundError):
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    if not _locked(fd, fcntl.LOCK_SH):
                        found[RunId(unquote(path.name.removesuffix(_SUFFIX)))] = _holder(fd)
                finally:
                    os.close(fd)
        return found

    def _path(self, run: RunId) -> Path:
        return self._folder / f"{quote(run, safe='')}{_SUFFIX}"

    def _me(self) -> Holder:
        return Holder(
            pid=os.getpid(),
            host=os.uname().nodename,
            command=" ".join(["allstop", *sys.argv[1:]])[:200],
            since=self._clock.now(),
        )


def _locked(fd: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _locked_for_good(fd: int) -> bool:
    """Who only looks has a shared lock for a moment: only another's own lock is in the way."""
    for _ in range(LOOKS):
        if _locked(fd):
            return True
        if not _locked(fd, fcntl.LOCK_SH):
            return False
        fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _holder(fd: int) -> Holder | None:
    """None while the holder is still writing its name."""
    try:
        return msgspec.json.decode(os.pread(fd, 4096, 0), type=Holder)
    except msgspec.DecodeError:
        return None
