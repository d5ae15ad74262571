"""How much room workspaces take, and how much is left for them."""

from __future__ import annotations

import os
from contextlib import suppress

from allstop.adapters.git.workspace.folders import Tree

LOW_BYTES = 200 * 1024**2
"""Left for the record and for work that comes home: below it, nothing that writes goes on."""

MOST_ENTRIES = 200_000
"""Of what has more files, so many are counted; a workspace is measured whole after a turn."""

WORKSPACE, CLEAN_CLONE = "the workspace", "the clean clone of the work"


def shortage(folder: os.PathLike[str], low_bytes: int = LOW_BYTES) -> str:
    """Why nothing may be written there: its disk is nearly full."""
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free >= low_bytes:
        return ""
    return f"the disk has {_mb(free)} left, and {_mb(low_bytes)} are kept free; make room on it"


def outgrown(tree: Tree, disk_mb: int, what: str) -> str:
    """Why what is at work there may not go on: it holds more than it may."""
    held = size_of(tree)
    return "" if held <= disk_mb * 1024**2 else too_big(held, disk_mb, what)


def too_big(held: int, disk_mb: int, what: str = WORKSPACE) -> str:
    return (
        f"{what} holds {_mb(held)}, and may hold {disk_mb:,} MB;"
        " remove what is not needed, or raise limits.disk_mb"
    )


def size_of(tree: Tree) -> int:
    """Bytes on the disk, the home of its box included, as far as the host sees them: what is shown
    in a box from elsewhere, and what its owner has locked, is not there. An agent may be at work in
    it meanwhile.
    """
    total = entries = 0
    linked: set[int] = set()
    folders = [os.fspath(tree.home), os.fspath(tree.work)]
    while folders and entries < MOST_ENTRIES:
        with suppress(OSError), os.scandir(folders.pop()) as found:
            for entry in found:
                entries += 1
                with suppress(OSError):
                    stat = entry.stat(follow_symlinks=False)
                    if stat.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                        if stat.st_ino in linked:
                            continue
                        linked.add(stat.st_ino)
                    total += stat.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
    return total


def _mb(size: int) -> str:
    return f"{size // 1024**2:,} MB"
