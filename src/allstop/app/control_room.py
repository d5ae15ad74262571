"""The control room of a project: its lock and address, in server.json."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from allstop.core.errors import AllstopError

NAME = "server.json"


class Address(Struct, frozen=True, kw_only=True):
    url: str
    pid: int


class ControlRoomOpenError(AllstopError):
    """The project has an open control room already."""

    default_code = "control_room_open"

    def __init__(self, address: Address | None) -> None:
        where = f"at {address.url} (process {address.pid})" if address else "and is just starting"
        super().__init__(
            f"a control room is open {where}", "use that one, or end it with Ctrl-C first"
        )
        self.address = address


@contextmanager
def claim_control_room(folder: Path) -> Iterator[Announcement]:
    """Lock the project's control room for this process until the block ends.

    Raises ControlRoomOpenError if another process has it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ControlRoomOpenError(_read(fd)) from None
        os.ftruncate(fd, 0)
        yield Announcement(fd)
        os.ftruncate(fd, 0)
    finally:
        os.close(fd)


class Announcement:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def publish(self, url: str) -> None:
        os.pwrite(self._fd, msgspec.json.encode(Address(url=url, pid=os.getpid())), 0)


def control_room(folder: Path) -> Address | None:
    """The address of the open control room, if there is one."""
    try:
        fd = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(fd)
    finally:
        os.close(fd)
    return None


def _read(fd: int) -> Address | None:
    try:
        return msgspec.json.decode(os.pread(fd, 4096, 0), type=Address)
    except msgspec.DecodeError:
        return None
