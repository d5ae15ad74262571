"""Whether anything in a workspace was touched, seen without reading or running any of it.

The kernel notes when a file was last changed, and no program in a box can set that time. Where all
of these times are as they were, nothing was changed, and nobody has to ask git.

The kernel's clock for files goes in steps of some milliseconds. It takes longer to end a box and to
start the next one, so a change after a look can't bear the time of one before it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

import msgspec

from allstop.adapters.git.trees import Tree

MOST_ENTRIES = 5000
"""In a bigger tree git is as quick."""

SETTINGS = (".gitconfig", ".config/git")
"""A home that has these may have a say, from anywhere, about which files are somebody's work."""
WAY = ".config"
"""Where this leads elsewhere, nobody goes there to look."""

SECOND_NS = 1_000_000_000


def print_of(tree: Tree, most_entries: int = MOST_ENTRIES) -> bytes | None:
    """The same as long as nothing is touched; None where that can't be known."""
    home = os.fspath(tree.home)
    if os.path.islink(f"{home}/{WAY}"):  # noqa: PTH114
        return None
    if any(os.path.lexists(f"{home}/{name}") for name in SETTINGS):
        return None
    found = []
    try:
        for path, about in _entries(tree):
            found.append((path, about.st_ino, about.st_mode, about.st_size, about.st_ctime_ns))
            if len(found) > most_entries:
                return None
    except OSError:  # a folder that is closed to us
        return None
    tells_parts_of_seconds = any(changed_at % SECOND_NS for *_, changed_at in found)
    if not tells_parts_of_seconds:
        return None
    return hashlib.blake2b(msgspec.msgpack.encode(found), digest_size=16).digest()


def _entries(tree: Tree) -> Iterator[tuple[bytes, os.stat_result]]:
    """Links are told of and not followed."""
    top = os.fsencode(tree.work)
    yield top, os.lstat(top)
    waiting = [top]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry.path, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
