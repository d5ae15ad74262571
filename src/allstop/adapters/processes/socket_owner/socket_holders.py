"""Finds the process that holds a socket, and whether an agent's tree contains it.

The kernel has no index for this, so the files of all processes are searched.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from allstop.adapters.processes.orphaned_boxes import TAG
from allstop.adapters.processes.proc import stat_of
from allstop.adapters.processes.socket_owner.socket_diag import Socket
from allstop.adapters.processes.unboxed.unboxed_program import SUPERVISOR_COMMAND

ROUNDS = 3
"""A socket may be passed between processes during the search."""

FIRST_NAMESPACE = 0xEFFFFFFC
"""The inode of the initial pid namespace, which contains all processes."""

HIDDEN_PROGRAMS = frozenset({"(sd-pam)", "ssh-agent", "gpg-agent"})
"""Programs that hide their files from everybody, and hold no such socket."""


class SearchResult(NamedTuple):
    holder: int | None = None
    in_agent_tree: bool = False
    is_complete: bool = True  # every process that could hold it was searched


def holder_of(wanted: Socket, likely: Iterable[int] = ()) -> SearchResult:
    """Search the likely processes first, then all."""
    if os.geteuid() not in (0, wanted.user):
        return SearchResult(is_complete=False)  # another user's socket: no program of ours has it
    link = f"socket:[{wanted.inode}]"
    is_complete = Path("/proc/self/ns/pid").stat().st_ino == FIRST_NAMESPACE
    for pid in _search_order(likely):
        found = _holds(pid, link)
        if found and (in_agent_tree := is_in_agent_tree(pid)) is not None:
            return SearchResult(pid, in_agent_tree)
        if found is None and _could_hold(pid, wanted.user):
            is_complete = False
    return SearchResult(is_complete=is_complete)


def is_in_agent_tree(pid: int) -> bool | None:
    """Whether it runs below a box or an unboxed supervisor of any project.

    None if it ends meanwhile.

    If this program runs in a box itself, other programs in that box don't count.
    """
    above_us = set(_ancestors(os.getpid()))
    while pid > 1 and pid not in above_us:
        words, stat = _command(pid), stat_of(pid)
        if stat is None:
            return None
        if _is_tree_root(words):
            return True
        pid = stat.parent
    return False


def _ancestors(pid: int) -> Iterator[int]:
    while pid > 1 and (stat := stat_of(pid)):
        yield pid
        pid = stat.parent


def _is_tree_root(words: list[bytes]) -> bool:
    is_box = words[0].endswith(b"bwrap") and any(word.startswith(TAG.encode()) for word in words)
    return is_box or SUPERVISOR_COMMAND.encode() in words


def _search_order(likely: Iterable[int]) -> Iterator[int]:
    yield from likely
    for _ in range(ROUNDS):
        yield from _newest_first()


def _newest_first() -> list[int]:
    """New processes first: a program that hides by starting others is among them."""
    return sorted((int(name) for name in os.listdir("/proc") if name.isdecimal()), reverse=True)  # noqa: PTH208 - a Path object costs ten times as much


def _holds(pid: int, link: str) -> bool | None:
    """None if its files can't be read."""
    try:
        files = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - as above
    except PermissionError:
        return None
    except OSError:
        return False
    for file in files:
        with suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{file}") == link:  # noqa: PTH115 - as above
                return True
    return False


def _could_hold(pid: int, user: int) -> bool:
    """Whether a process with hidden files could hold it, such as the end of a tunnel.

    A process that is ending hides its files too, and its command line is empty.
    """
    if not any(_command(pid)) or is_in_agent_tree(pid) is not False:
        return False
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return False
    fields = dict(line.partition(":\t")[::2] for line in lines)
    return str(user) in fields.get("Uid", "").split() and fields.get("Name") not in HIDDEN_PROGRAMS


def _command(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b""]
