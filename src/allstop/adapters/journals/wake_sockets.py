"""Datagram sockets by which processes on one journal wake each other after a write."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio

_WAKE = b"!"
_numbers = itertools.count(1)


class WakeSockets:
    """A folder of datagram sockets, one for each listening process."""

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

    def wake_others(self) -> None:
        """Wake every other process; sockets of ended processes are removed."""
        for name in self._others():
            try:
                self._out.sendto(_WAKE, self._address(name))
            except BlockingIOError:
                pass  # its queue is full, so it will wake up anyway
            except (ConnectionRefusedError, FileNotFoundError):
                with suppress(OSError):
                    (self._folder / name).unlink()
            except OSError:
                continue

    @contextmanager
    def open_own(self) -> Iterator[WakeSocket]:
        """Open a socket of this process for the length of the block."""
        name = f"{os.getpid()}.{next(_numbers)}.sock"
        with suppress(FileNotFoundError):
            (self._folder / name).unlink()
        socket_ = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            socket_.settimeout(0)
            socket_.bind(self._address(name))
            self._mine.add(name)
            yield WakeSocket(socket_)
        finally:
            self._mine.discard(name)
            socket_.close()
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
        # a socket's path is limited to 107 bytes: use the open folder's descriptor if possible
        through_fd = f"/proc/self/fd/{self._fd}/{name}"
        return through_fd if os.path.isdir("/proc/self/fd") else str(self._folder / name)  # noqa: PTH112


class WakeSocket:
    def __init__(self, socket_: socket.socket) -> None:
        self._socket = socket_

    async def wait(self) -> None:
        """Wait for a wake-up; several may count as one."""
        await anyio.wait_readable(self._socket)
        with suppress(BlockingIOError):
            while True:
                self._socket.recv(16)
