"""Detects whether a workspace was changed, without reading its files or running anything in it.

The kernel records when each inode was last changed, and no program in a box can set that time.
If all of these times are unchanged, nothing was changed, and git need not run.

The kernel's clock for files has steps of some milliseconds. Ending one box and starting the next
takes longer, so a change after a snapshot never has the same time as one before it.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from allstop.adapters.git.repository.cached_files import read_small
from allstop.adapters.git.workspace.folders import WorkspaceFolders

MAX_ENTRIES = 5000
"""In a larger tree git is as fast."""

HOME_SETTINGS = (".gitconfig", ".config/git")
"""Git settings in the home, which may name ignore files anywhere."""
CONFIG_FOLDER = ".config"
"""If this is a symbolic link, no snapshot is taken."""

OUTSIDE_SETTINGS = (b"include", b"excludesfile", b"attributesfile", b"worktree")
"""Settings of a clone that name files outside it."""

COMMON_DIR = b".git/commondir"
"""This file moves refs and settings to another folder."""

SECOND_NS = 1_000_000_000

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    path: bytes  # from the top
    inode: int
    mode: int
    size: int
    changed_ns: int


class Snapshot(NamedTuple):
    """A snapshot of a workspace; a folder's entries come after the folder."""

    home: str
    top: str
    entries: tuple[Entry, ...]


def take_snapshot(folders: WorkspaceFolders, most_entries: int = MAX_ENTRIES) -> Snapshot | None:
    """Take a snapshot; None if later changes could go unnoticed."""
    home, top = os.fspath(folders.home), os.fspath(folders.work)
    if _has_git_settings(home):
        return None
    found = []
    try:
        for entry in _entries(os.fsencode(top)):
            found.append(entry)
            if len(found) > most_entries:
                return None
    except OSError:  # no permission to read a folder
        return None
    has_fine_times = any(entry.changed_ns % SECOND_NS for entry in found)
    if not has_fine_times or _depends_on_outside(top, found):
        return None
    return Snapshot(home, top, tuple(found))


def is_unchanged(snapshot: Snapshot) -> bool:
    """Whether nothing has changed since. A folder's own time shows added and removed entries.

    No link that was put there since is followed, because the folder around it is compared first.
    """
    if _has_git_settings(snapshot.home):
        return False
    try:
        top = os.open(snapshot.top, _FOLDER)
    except OSError:
        return False
    try:
        for path, inode, mode, size, changed_ns in snapshot.entries:
            info = os.stat(path, dir_fd=top, follow_symlinks=False)
            if (
                info.st_ctime_ns != changed_ns
                or info.st_ino != inode
                or info.st_size != size
                or info.st_mode != mode
            ):
                return False
    except OSError:
        return False
    finally:
        os.close(top)
    return True


def _depends_on_outside(top: str, entries: Iterable[Entry]) -> bool:
    """Whether files outside the tree may affect git's result; their times are not recorded."""
    if any(_points_outside(each) for each in entries):
        return True
    try:
        settings = read_small(f"{top}/.git/config").lower()
    except OSError:
        return True
    return any(word in settings for word in OUTSIDE_SETTINGS)


def _points_outside(entry: Entry) -> bool:
    is_link = stat.S_ISLNK(entry.mode) and entry.path.startswith(b".git")
    return is_link or entry.path == COMMON_DIR


def _has_git_settings(home: str) -> bool:
    if os.path.islink(f"{home}/{CONFIG_FOLDER}"):  # noqa: PTH114 - Path objects are slow
        return True
    return any(os.path.lexists(f"{home}/{name}") for name in HOME_SETTINGS)


def _entries(top: bytes) -> Iterator[Entry]:
    """Yield all entries without following symbolic links."""
    yield _entry(b".", os.lstat(top))
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(top + b"/" + folder) as found:
            for each in found:
                path = folder + b"/" + each.name if folder else each.name
                yield _entry(path, each.stat(follow_symlinks=False))
                if each.is_dir(follow_symlinks=False):
                    waiting.append(path)


def _entry(path: bytes, info: os.stat_result) -> Entry:
    return Entry(path, info.st_ino, info.st_mode, info.st_size, info.st_ctime_ns)
