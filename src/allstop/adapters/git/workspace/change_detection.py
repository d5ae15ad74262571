"""Whether anything in a workspace was touched, seen without reading or running any of it.

The kernel notes when a file was last changed, and no program in a box can set that time. Where all
of these times are as they were, nothing was changed, and nobody has to ask git.

The kernel's clock for files goes in steps of some milliseconds. It takes longer to end a box and to
start the next one, so a change after a look can't bear the time of one before it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from allstop.adapters.git.repository.cached_files import content
from allstop.adapters.git.workspace.folders import Tree

MOST_ENTRIES = 5000
"""In a bigger tree git is as quick."""

SETTINGS = (".gitconfig", ".config/git")
"""A home that has these may have a say, from anywhere, about which files are somebody's work."""
WAY = ".config"
"""Where this leads elsewhere, nobody goes there to look."""

ELSEWHERE = (b"include", b"excludesfile", b"attributesfile", b"worktree")
"""Settings of a clone that name other files than its own."""

COMMON = b".git/commondir"
"""It names another place for refs and settings."""

SECOND_NS = 1_000_000_000

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    path: bytes  # from the top
    number: int
    mode: int
    size: int
    changed_ns: int


class Look(NamedTuple):
    """A workspace as it was seen; what is in a folder comes after it."""

    home: str
    top: str
    entries: tuple[Entry, ...]


def look_at(tree: Tree, most_entries: int = MOST_ENTRIES) -> Look | None:
    """None where later it couldn't be told whether anything was touched."""
    home, top = os.fspath(tree.home), os.fspath(tree.work)
    if _has_a_say(home):
        return None
    found = []
    try:
        for entry in _entries(os.fsencode(top)):
            found.append(entry)
            if len(found) > most_entries:
                return None
    except OSError:  # a folder that is closed to us
        return None
    tells_parts_of_seconds = any(entry.changed_ns % SECOND_NS for entry in found)
    if not tells_parts_of_seconds or _hangs_on_others(top, found):
        return None
    return Look(home, top, tuple(found))


def is_still(look: Look) -> bool:
    """Whether nothing was touched since. A folder's own time tells of what came into it or left.

    Nothing that was put there since is followed: the folder around it is looked at first.
    """
    if _has_a_say(look.home):
        return False
    try:
        top = os.open(look.top, _FOLDER)
    except OSError:
        return False
    try:
        for path, number, mode, size, changed_ns in look.entries:
            about = os.stat(path, dir_fd=top, follow_symlinks=False)
            if (
                about.st_ctime_ns != changed_ns
                or about.st_ino != number
                or about.st_size != size
                or about.st_mode != mode
            ):
                return False
    except OSError:
        return False
    finally:
        os.close(top)
    return True


def _hangs_on_others(top: str, entries: Iterable[Entry]) -> bool:
    """Whether files elsewhere may decide what git finds here: the times of these tell nothing."""
    if any(_leads_away(each) for each in entries):
        return True
    try:
        settings = content(f"{top}/.git/config").lower()
    except OSError:
        return True
    return any(word in settings for word in ELSEWHERE)


def _leads_away(entry: Entry) -> bool:
    is_link = stat.S_ISLNK(entry.mode) and entry.path.startswith(b".git")
    return is_link or entry.path == COMMON


def _has_a_say(home: str) -> bool:
    if os.path.islink(f"{home}/{WAY}"):  # noqa: PTH114 - paths are slow to make
        return True
    return any(os.path.lexists(f"{home}/{name}") for name in SETTINGS)


def _entries(top: bytes) -> Iterator[Entry]:
    """Links are told of and not followed."""
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


def _entry(path: bytes, about: os.stat_result) -> Entry:
    return Entry(path, about.st_ino, about.st_mode, about.st_size, about.st_ctime_ns)
