"""Words in flight from the process that drives a run to the control room of the same store.

Datagrams in a folder that only its owner can enter. They are no record: what nobody takes in time
is put before what comes next, and what is lost with a process is in the journal soon.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import anyio
import msgspec

from allstop.core.ids import RunId
from allstop.ports import Live

LONGEST = 16_000
"""Characters of one message; of more only the end is of any use to somebody who looks."""


class Uttered(NamedTuple):
    run: RunId
    kind: str
    call: str  # in a room: what it answers
    text: str


class _Folder:
    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def address(self, name: str) -> str:
        # a socket's path may have 107 bytes only: go through the open folder where that works
        through_fd = f"/proc/self/fd/{self.fd}/{name}"
        return through_fd if os.path.isdir("/proc/self/fd") else str(self.path / name)  # noqa: PTH112


class Mouth:
    """Tells whoever listens, and nobody at nearly no cost."""

    def __init__(self, folder: Path) -> None:
        self._folder = _Folder(folder)
        self._listed_at = 0
        self._ears: tuple[str, ...] = ()
        self._unsaid: dict[tuple[str, RunId, str, str], str] = {}
        self._out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._out.settimeout(0)

    def close(self) -> None:
        self._out.close()
        os.close(self._folder.fd)

    @property
    def is_heard(self) -> bool:
        changed_at = os.fstat(self._folder.fd).st_mtime_ns
        if changed_at != self._listed_at:
            self._listed_at = changed_at
            names = (path.name for path in self._folder.path.iterdir())
            self._ears = tuple(name for name in names if name != _name())
        return bool(self._ears)

    def say(self, run: RunId, live: Live, call: str) -> None:
        for ear in self._ears:
            key = (ear, run, live.kind, call)
            text = (self._unsaid.pop(key, "") + live.text)[-LONGEST:]
            try:
                words = msgspec.json.encode(Uttered(run, live.kind, call, text))
                self._out.sendto(words, self._folder.address(ear))
            except BlockingIOError:
                self._unsaid[key] = text
            except (ConnectionRefusedError, FileNotFoundError):
                with suppress(OSError):
                    (self._folder.path / ear).unlink()  # of a control room that was killed
            except OSError:
                continue


class Ear:
    def __init__(self, own: socket.socket) -> None:
        self._own = own

    async def heard(self) -> list[Uttered]:
        """Waits for words; those that came meanwhile are told together."""
        await anyio.wait_readable(self._own)
        found: list[Uttered] = []
        with suppress(BlockingIOError):
            while len(found) < 1000:
                data = self._own.recv(256 * 1024)
                with suppress(msgspec.DecodeError):
                    found.append(msgspec.json.decode(data, type=Uttered))
        return found


@contextmanager
def ear(path: Path) -> Iterator[Ear]:
    """For as long as the block lasts."""
    folder = _Folder(path)
    own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        with suppress(FileNotFoundError):
            (path / _name()).unlink()
        own.settimeout(0)
        own.bind(folder.address(_name()))
        yield Ear(own)
    finally:
        own.close()
        with suppress(OSError):
            (path / _name()).unlink()
        os.close(folder.fd)


def _name() -> str:
    return f"{os.getpid()}.sock"
