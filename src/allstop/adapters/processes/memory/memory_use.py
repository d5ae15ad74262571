"""How much memory the processes below one of them hold together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress

from allstop.adapters.processes.proc import family_of

IN_MEMORY = ("tmp", "dev/shm")
"""Folders of every box whose files are held in memory, whoever has them open."""

QUICK = frozenset({b"RssAnon", b"RssShmem", b"VmSwap"})
EXACT = frozenset({b"Pss_Anon", b"Pss_Shmem", b"SwapPss"})
MAPPING = re.compile(rb"[0-9a-f]+-[0-9a-f]+ \S+ [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) ")


def held(root: int, folders: Iterable[str], enough: int) -> int:
    """Bytes of it and of all below it, and of files that lie in these folders of its own.

    Pages that several share count once. To find out which they are takes long, so it is done
    only where more than `enough` are held if each counts for everyone who has it.
    """
    pids = (root, *(child for child, _ in family_of(root)))
    files = _in_files(root, folders) | _without_a_name(pids)
    in_files = sum(files.values())
    quick = in_files + sum(_quickly(pid) for pid in pids)
    if quick <= enough:
        return quick
    return in_files + sum(_exactly(pid, frozenset(files)) for pid in pids)


def _in_files(root: int, folders: Iterable[str]) -> dict[int, int]:
    """How much is in them, by the device that they are."""
    found: dict[int, int] = {}
    for folder in folders:
        place = f"/proc/{root}/root/{folder}"
        with suppress(OSError):
            device, about = os.stat(place).st_dev, os.statvfs(place)  # noqa: PTH116
            found[device] = (about.f_blocks - about.f_bfree) * about.f_frsize
    return found


def _without_a_name(pids: Iterable[int]) -> dict[int, int]:
    """How much is in files that only programs know of, by the device: the kernel has one for them."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as handles:
            for handle in handles:
                with suppress(OSError):
                    if os.readlink(handle.path).startswith("/memfd:"):  # noqa: PTH115
                        about = os.stat(handle.path)  # noqa: PTH116
                        sizes[about.st_dev, about.st_ino] = about.st_blocks * 512
    found: dict[int, int] = {}
    for (device, _), size in sizes.items():
        found[device] = found.get(device, 0) + size
    return found


def _quickly(pid: int) -> int:
    return _added_up(_read(f"/proc/{pid}/status"), QUICK)


def _exactly(pid: int, devices: frozenset[int]) -> int:
    """Without what it has mapped of files that were counted where they lie."""
    rollup = _read(f"/proc/{pid}/smaps_rollup")
    if not rollup:  # it ended meanwhile, or the kernel keeps this to itself
        return _quickly(pid)
    total = _added_up(rollup, EXACT)
    if devices and _added_up(rollup, frozenset({b"Pss_Shmem"})):
        total -= _mapped(_read(f"/proc/{pid}/smaps"), devices)
    return total


def _added_up(text: bytes, names: frozenset[bytes]) -> int:
    total = 0
    for line in text.splitlines():
        name, _, value = line.partition(b":")
        if name in names:
            total += int(value.split()[0]) * 1024
    return total


def _mapped(text: bytes, devices: frozenset[int]) -> int:
    """Bytes of files on these devices; what was written over them privately is not theirs."""
    total = 0
    is_there = False
    for line in text.splitlines():
        if match := MAPPING.match(line):
            is_there = os.makedev(int(match[1], 16), int(match[2], 16)) in devices
        elif is_there and line.startswith(b"Pss:"):
            total += int(line.split()[1]) * 1024
        elif is_there and line.startswith(b"Anonymous:"):
            total -= int(line.split()[1]) * 1024
    return max(total, 0)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - asked for every process
            return file.read()
    except OSError:
        return b""
