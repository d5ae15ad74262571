"""Which process holds a socket, and whether it is of a box: all are looked at, for nobody lists it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from allstop.adapters.processes.orphaned_boxes import TAG
from allstop.adapters.processes.proc import stat_of
from allstop.adapters.processes.socket_owner.socket_diag import Socket
from allstop.adapters.processes.unboxed.unboxed_program import KEEPER

ROUNDS = 3
"""It may go from process to process while we look."""

FIRST_NAMESPACE = 0xEFFFFFFC
"""The number of the one in which all processes are."""

SHY = frozenset({"(sd-pam)", "ssh-agent", "gpg-agent"})
"""They show their files to nobody, and have none of this kind."""


class Sight(NamedTuple):
    """What was seen of the holder of a socket."""

    holder: int | None = None
    at_work: bool = False
    is_whole: bool = True  # nobody was left out who could have it


def holder_of(wanted: Socket, likely: Iterable[int] = ()) -> Sight:
    """The likely ones are looked at first."""
    if os.geteuid() not in (0, wanted.user):
        return Sight(is_whole=False)  # not ours, so what ours run has it not
    link = f"socket:[{wanted.number}]"
    is_whole = Path("/proc/self/ns/pid").stat().st_ino == FIRST_NAMESPACE
    for pid in _in_turn(likely):
        found = _holds(pid, link)
        if found and (at_work := is_at_work(pid)) is not None:
            return Sight(pid, at_work)
        if found is None and _could_have(pid, wanted.user):
            is_whole = False
    return Sight(is_whole=is_whole)


def is_at_work(pid: int) -> bool | None:
    """Whether it is below a box or a keeper, of whichever store; None if it ends meanwhile.

    Where we are in a box ourselves, what is in it with us is not.
    """
    above_us = set(_above(os.getpid()))
    while pid > 1 and pid not in above_us:
        words, stat = _command(pid), stat_of(pid)
        if stat is None:
            return None
        if _is_marked(words):
            return True
        pid = stat.parent
    return False


def _above(pid: int) -> Iterator[int]:
    """It, and those that have started it."""
    while pid > 1 and (stat := stat_of(pid)):
        yield pid
        pid = stat.parent


def _is_marked(words: list[bytes]) -> bool:
    is_box = words[0].endswith(b"bwrap") and any(word.startswith(TAG.encode()) for word in words)
    return is_box or KEEPER.encode() in words


def _in_turn(likely: Iterable[int]) -> Iterator[int]:
    yield from likely
    for _ in range(ROUNDS):
        yield from _newest_first()


def _newest_first() -> list[int]:
    """Whoever hides by starting others is among them."""
    return sorted((int(name) for name in os.listdir("/proc") if name.isdecimal()), reverse=True)  # noqa: PTH208 - a path object costs ten times as much


def _holds(pid: int, link: str) -> bool | None:
    """None where we may not look."""
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


def _could_have(pid: int, user: int) -> bool:
    """A program that shows nothing of itself, such as the end of a tunnel that somebody came by.

    Of what is just ending nothing is shown either, its command neither.
    """
    if not any(_command(pid)) or is_at_work(pid) is not False:
        return False
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return False
    said = dict(line.partition(":\t")[::2] for line in lines)
    return str(user) in said.get("Uid", "").split() and said.get("Name") not in SHY


def _command(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b""]
