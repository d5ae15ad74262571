"""Creates the folder of all workspaces with the ext4 flag that spreads its subfolders.

ext4 places files near their folder. Before it takes an inode number for a new file, it looks at
every inode freed there in the last minutes. Workspaces delete many files, and then a small file
costs a millisecond. The flag marks a folder like `/home`: its subfolders are unrelated, and ext4
places each where the disk is emptiest.
"""

import os
import struct
import sys
from contextlib import suppress
from pathlib import Path

TOP_DIRECTORY = 0x00020000
"""The flag that `chattr +T` sets."""

_FLAGS = struct.Struct("I")
_LONG = struct.calcsize("l")
_READ = 2 << 30 | _LONG << 16 | ord("f") << 8 | 1
_WRITE = 1 << 30 | _LONG << 16 | ord("f") << 8 | 2


def make_workspaces_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):  # other file systems don't have the flag and don't need it
        _set_flag(folder)


def _set_flag(folder: Path) -> None:
    if sys.platform != "linux":
        return
    from fcntl import ioctl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flags = bytearray(_LONG)
        ioctl(handle, _READ, flags)
        (found,) = _FLAGS.unpack_from(flags)
        if not found & TOP_DIRECTORY:
            _FLAGS.pack_into(flags, 0, found | TOP_DIRECTORY)
            ioctl(handle, _WRITE, flags)
    finally:
        os.close(handle)
