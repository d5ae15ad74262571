"""Sends live text of agents from the process that drives a run to the control room.

Datagrams in a folder that only its owner can enter. They are no record: text that can't be
delivered is sent with the next one, and text lost with a process is in the journal soon.
"""

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

MAX_CHARS = 16_000
"""The most characters of one message; only the end of a longer text is sent."""


class LiveMessage(NamedTuple):
    run: RunId
    kind: str
    call: str  # in a room: the call that it answers
    text: str


class _Folder:
    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def address(self, name: str) -> str:
        # a socket's path is limited to 107 bytes: use the open folder's descriptor if possible
        through_fd = f"/proc/self/fd/{self.fd}/{name}"
        return through_fd if os.path.isdir("/proc/self/fd") else str(self.path / name)  # noqa: PTH112


class LiveTextSender:
    """Sends text to all listening processes; costs nearly nothing if there is none."""

    def __init__(self, folder: Path) -> None:
        self._folder = _Folder(folder)
        self._listed_at = 0
        self._receivers: tuple[str, ...] = ()
        self._unsent: dict[tuple[str, RunId, str, str], str] = {}
        self._out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._out.settimeout(0)

    def close(self) -> None:
        self._out.close()
        os.close(self._folder.fd)

    @property
    def has_receivers(self) -> bool:
        changed_at = os.fstat(self._folder.fd).st_mtime_ns
        if changed_at != self._listed_at:
            self._listed_at = changed_at
            names = (path.name for path in self._folder.path.iterdir())
            self._receivers = tuple(name for name in names if name != _name())
        return bool(self._receivers)

    def send(self, run: RunId, live: Live, call: str) -> None:
        for receive_live_text in self._receivers:
            key = (receive_live_text, run, live.kind, call)
            text = (self._unsent.pop(key, "") + live.text)[-MAX_CHARS:]
            try:
                words = msgspec.json.encode(LiveMessage(run, live.kind, call, text))
                self._out.sendto(words, self._folder.address(receive_live_text))
            except BlockingIOError:
                self._unsent[key] = text
            except (ConnectionRefusedError, FileNotFoundError):
                with suppress(OSError):
                    (
                        self._folder.path / receive_live_text
                    ).unlink()  # left by a control room that was killed
            except OSError:
                continue


class LiveTextReceiver:
    def __init__(self, own: socket.socket) -> None:
        self._own = own

    async def receive(self) -> list[LiveMessage]:
        """Wait for text; returns everything that has arrived."""
        await anyio.wait_readable(self._own)
        found: list[LiveMessage] = []
        with suppress(BlockingIOError):
            while len(found) < 1000:
                data = self._own.recv(256 * 1024)
                with suppress(msgspec.DecodeError):
                    found.append(msgspec.json.decode(data, type=LiveMessage))
        return found


@contextmanager
def receive_live_text(path: Path) -> Iterator[LiveTextReceiver]:
    folder = _Folder(path)
    own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        with suppress(FileNotFoundError):
            (path / _name()).unlink()
        own.settimeout(0)
        own.bind(folder.address(_name()))
        yield LiveTextReceiver(own)
    finally:
        own.close()
        with suppress(OSError):
            (path / _name()).unlink()
        os.close(folder.fd)


def _name() -> str:
    return f"{os.getpid()}.sock"
