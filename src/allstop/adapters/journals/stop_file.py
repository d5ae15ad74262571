"""The STOP file: whoever can create a file in the store's folder can stop everything."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from allstop.core.text import one_line

_IN_MOVED = 0x40 | 0x80
_IN_CREATE = 0x100
_IN_DELETE = 0x200
_POLL_S = 0.5

NOBODY = "STOP file"
"""Who put it there, if they did not say so."""


class Sentinel:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = str(path)

    def is_up(self) -> bool:
        # asked before every write: the answer is nearly always no, and must not be an exception
        return os.access(self._name, os.F_OK, follow_symlinks=False)

    def why(self) -> str:
        """Who put it there, if they said so."""
        line = b""
        with suppress(OSError):
            file = os.open(self._name, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would be waited for
            try:
                line = os.read(file, 200).partition(b"\n")[0]
            finally:
                os.close(file)
        return one_line(line.decode(errors="replace"), 100) or NOBODY

    def since(self) -> datetime | None:
        try:
            return datetime.fromtimestamp(self._path.lstat().st_mtime, UTC)
        except OSError:
            return None

    def raise_(self, why: str) -> None:
        """Put it there, with its words in it from its first moment: somebody may be watching.

        On a full disk it may be there without them, or not at all; the journal's record still stops.
        """
        words = self._path.with_name(f".{self._path.name}-{os.getpid()}")
        try:
            words.write_text(f"{why}\n", encoding="utf-8")
            words.replace(self._path)
        except OSError:
            with suppress(OSError):
                words.unlink()
            with suppress(OSError):
                self._path.touch()

    def lower(self) -> None:
        with suppress(FileNotFoundError):
            if self._path.is_dir() and not self._path.is_symlink():
                self._path.rmdir()
            else:
                self._path.unlink()

    async def raised(self) -> None:
        """Waits until the file is there."""
        while not self.is_up():
            await self._changed(up=False)

    async def lowered(self) -> None:
        """Waits until the file is gone."""
        while self.is_up():
            await self._changed(up=True)

    async def _changed(self, *, up: bool) -> None:
        """Waits until the folder changes; `up` is what the caller saw before."""
        import anyio  # who only looks at it waits for nothing

        with _folder_events(self._path.parent) as fd:
            if fd is None:
                await anyio.sleep(_POLL_S)
            elif self.is_up() is up:  # looked at again, now that the folder is being watched
                await anyio.wait_readable(fd)


@contextmanager
def _folder_events(folder: Path) -> Iterator[int | None]:
    """A descriptor that is readable once the folder has changed; None where there is none."""
    if sys.platform == "linux":
        fd = _inotify(folder)
        try:
            yield fd
        finally:
            if fd is not None:
                os.close(fd)
    elif hasattr(select, "kqueue"):  # pragma: no cover - macOS
        with _kqueue(folder) as fd:
            yield fd
    else:  # pragma: no cover
        yield None


def _inotify(folder: Path) -> int | None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    fd: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0:
        return None
    mask = _IN_CREATE | _IN_DELETE | _IN_MOVED
    if libc.inotify_add_watch(fd, os.fsencode(folder), mask) < 0:
        os.close(fd)
        return None
    return fd


@contextmanager
def _kqueue(folder: Path) -> Iterator[int]:  # pragma: no cover - macOS
    queue = select.kqueue()  # type: ignore[attr-defined,unused-ignore]
    watched = os.open(folder, os.O_RDONLY)
    change = select.kevent(  # type: ignore[attr-defined,unused-ignore]
        watched,
        filter=select.KQ_FILTER_VNODE,  # type: ignore[attr-defined,unused-ignore]
        flags=select.KQ_EV_ADD | select.KQ_EV_CLEAR,  # type: ignore[attr-defined,unused-ignore]
        fflags=select.KQ_NOTE_WRITE,  # type: ignore[attr-defined,unused-ignore]
    )
    try:
        queue.control([change], 0)
        yield queue.fileno()
    finally:
        os.close(watched)
        queue.close()
