"""How much disk space workspaces use, and how much is left for them."""

import os
from contextlib import suppress

from allstop.adapters.git.workspace.folders import WorkspaceFolders

LOW_BYTES = 200 * 1024**2
"""Reserved for the journal and for fetching work: below it, no program that writes may continue."""

MAX_ENTRIES = 200_000
"""The most files that are counted; after a turn, a workspace is measured completely in its box."""

WORKSPACE, CLEAN_CLONE = "the workspace", "the clean clone of the work"


def shortage(folder: os.PathLike[str], low_bytes: int = LOW_BYTES) -> str:
    """Why no work may be done there: the disk is nearly full; "" if it isn't."""
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free >= low_bytes:
        return ""
    return f"the disk has {_mb(free)} left, and {_mb(low_bytes)} are reserved; free some space"


def over_limit(folders: WorkspaceFolders, disk_mb: int, what: str) -> str:
    """Why the program in this workspace may not continue: it holds too much; "" if it doesn't."""
    held = size_of(folders)
    return "" if held <= disk_mb * 1024**2 else too_big(held, disk_mb, what)


def too_big(held: int, disk_mb: int, what: str = WORKSPACE) -> str:
    """Return the message; the agent is sent it too."""
    return (
        f"{what} holds {_mb(held)}, and may hold {disk_mb:,} MB;"
        " remove what is not needed, or raise limits.disk_mb"
    )


def size_of(folders: WorkspaceFolders) -> int:
    """Return the bytes on disk of the tree and the box's home; an agent may be changing them.

    Folders mounted from elsewhere and folders without read permission are not counted.
    """
    total = entries = 0
    linked: set[int] = set()
    pending = [os.fspath(folders.home), os.fspath(folders.work)]
    while pending and entries < MAX_ENTRIES:
        with suppress(OSError), os.scandir(pending.pop()) as found:
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
                        pending.append(entry.path)
    return total


def _mb(size: int) -> str:
    return f"{size // 1024**2:,} MB"
