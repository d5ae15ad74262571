"""The folder in which all workspaces lie, far from each other on a disk that can do so.

ext4 puts what is made near to the folder it is made in, and before it takes a number for a new file
it looks there at every file that was deleted within the last minutes. Where much is deleted, and in
workspaces much is, a small file costs a millisecond. A folder with this mark is taken for one like
`/home`: what is in it has nothing to do with each other, and begins where the disk is emptiest.
"""

from __future__ import annotations

import os
import struct
import sys
from contextlib import suppress
from pathlib import Path

TOP = 0x00020000
"""What `chattr +T` sets."""

_MARKS = struct.Struct("I")
_LONG = struct.calcsize("l")
_READ = 2 << 30 | _LONG << 16 | ord("f") << 8 | 1
_WRITE = 1 << 30 | _LONG << 16 | ord("f") << 8 | 2


def make_ground(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):  # other disks don't know the mark, and don't need it
        _mark(folder)


def _mark(folder: Path) -> None:
    if sys.platform != "linux":
        return
    from fcntl import ioctl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        marks = bytearray(_LONG)
        ioctl(handle, _READ, marks)
        (found,) = _MARKS.unpack_from(marks)
        if not found & TOP:
            _MARKS.pack_into(marks, 0, found | TOP)
            ioctl(handle, _WRITE, marks)
    finally:
        os.close(handle)
