"""The STOP file: creating it in the journal's folder stops everything."""

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

UNNAMED = "STOP file"
"""The author of a stop if the file names none."""


class StopFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = str(path)

    def exists(self) -> bool:
        # called before every write: usually there is no file, and an exception would be slow
        return os.access(self._name, os.F_OK, follow_symlinks=False)

    def author(self) -> str:
        """Return the first line of the file, which names its author."""
        line = b""
        with suppress(OSError):
            file = os.open(self._name, os.O_RDONLY | os.O_NONBLOCK)  # a named pipe must not block
            try:
                line = os.read(file, 200).partition(b"\n")[0]
            finally:
                os.close(file)
        return one_line(line.decode(errors="replace"), 100) or UNNAMED

    def created_at(self) -> datetime | None:
        try:
            return datetime.fromtimestamp(self._path.lstat().st_mtime, UTC)
        except OSError:
            return None

    def create(self, author: str, *, make_folder: bool = False) -> None:
        """Create the file together with its text, because another process may be watching.

        On a full disk the file may lack the text or not exist; the stop in the journal still
        counts.
        """
        draft = self._path.with_name(f".{self._path.name}-{os.getpid()}")
        try:
            if make_folder:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_text(f"{author}\n", encoding="utf-8")
            draft.replace(self._path)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            with suppress(OSError):
                self._path.touch()

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            if self._path.is_dir() and not self._path.is_symlink():
                self._path.rmdir()
            else:
                self._path.unlink()

    async def wait_created(self) -> None:
        while not self.exists():
            await self._changed(existed=False)

    async def wait_removed(self) -> None:
        while self.exists():
            await self._changed(existed=True)

    async def _changed(self, *, existed: bool) -> None:
        """Wait until the folder changes; `existed` is the state that the caller saw."""
        import anyio  # callers that only check the file don't need it

        with _folder_events(self._path.parent) as fd:
            if fd is None:
                await anyio.sleep(_POLL_S)
            elif self.exists() is existed:
                # checked again, because the folder is watched only from here on
                await anyio.wait_readable(fd)


@contextmanager
def _folder_events(folder: Path) -> Iterator[int | None]:
    """Yield a descriptor that becomes readable when the folder changes, or None."""
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
