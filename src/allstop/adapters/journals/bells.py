"""How processes on one store tell each other that something was written, without polling."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio

_RING = b"!"
_numbers = itertools.count(1)


class Bells:
    """A folder of datagram sockets, one for each process that listens."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._listed_at = 0
        self._names: tuple[str, ...] = ()
        self._mine: set[str] = set()
        self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._out.settimeout(0)

    def close(self) -> None:
        self._out.close()
        os.close(self._fd)

    def ring(self) -> None:
        """Tell every other process; a bell nobody holds any more is taken down."""
        for name in self._others():
            try:
                self._out.sendto(_RING, self._address(name))
            except BlockingIOError:
                pass  # it has rung already and will look
            except (ConnectionRefusedError, FileNotFoundError):
                with suppress(OSError):
                    (self._folder / name).unlink()
            except OSError:
                continue

    @contextmanager
    def hang(self) -> Iterator[Bell]:
        """A bell of one's own, for as long as the block lasts."""
        name = f"{os.getpid()}.{next(_numbers)}.sock"
        with suppress(FileNotFoundError):
            (self._folder / name).unlink()
        own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            own.settimeout(0)
            own.bind(self._address(name))
            self._mine.add(name)
            yield Bell(own)
        finally:
            self._mine.discard(name)
            own.close()
            with suppress(OSError):
                (self._folder / name).unlink()

    def _others(self) -> tuple[str, ...]:
        changed_at = os.fstat(self._fd).st_mtime_ns
        if changed_at != self._listed_at:
            self._listed_at = changed_at
            names = (path.name for path in self._folder.iterdir())
            self._names = tuple(name for name in names if name not in self._mine)
        return self._names

    def _address(self, name: str) -> str:
        # a socket's path may have 107 bytes only: go through the open folder where that works
        through_fd = f"/proc/self/fd/{self._fd}/{name}"
        return through_fd if os.path.isdir("/proc/self/fd") else str(self._folder / name)  # noqa: PTH112


class Bell:
    def __init__(self, own: socket.socket) -> None:
        self._own = own

    async def heard(self) -> None:
        """Waits until somebody rings; several rings may be heard as one."""
        await anyio.wait_readable(self._own)
        with suppress(BlockingIOError):
            while True:
                self._own.recv(16)
