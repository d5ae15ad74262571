"""How much memory a process tree uses."""

import os
import re
from collections.abc import Iterable
from contextlib import suppress

from allstop.adapters.processes.proc import family_of

IN_MEMORY = ("tmp", "dev/shm")
"""Folders of every box whose files are kept in memory."""

QUICK_FIELDS = frozenset({b"RssAnon", b"RssShmem", b"VmSwap"})
EXACT_FIELDS = frozenset({b"Pss_Anon", b"Pss_Shmem", b"SwapPss"})
MAPPING = re.compile(rb"[0-9a-f]+-[0-9a-f]+ \S+ [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) ")


def used_bytes(root: int, folders: Iterable[str], enough: int) -> int:
    """Return the bytes used by a process, everything below it, and the files in these folders.

    Shared pages count once. Finding them takes long, so this is done only if the total that counts
    them for every process exceeds `enough`.
    """
    pids = (root, *(child for child, _ in family_of(root)))
    files = _bytes_in_folders(root, folders) | _bytes_in_memfds(pids)
    in_files = sum(files.values())
    quick = in_files + sum(_quick_bytes(pid) for pid in pids)
    if quick <= enough:
        return quick
    return in_files + sum(_exact_bytes(pid, frozenset(files)) for pid in pids)


def _bytes_in_folders(root: int, folders: Iterable[str]) -> dict[int, int]:
    """Return the bytes in these folders, by device."""
    found: dict[int, int] = {}
    for folder in folders:
        folder_path = f"/proc/{root}/root/{folder}"
        with suppress(OSError):
            device, info = os.stat(folder_path).st_dev, os.statvfs(folder_path)  # noqa: PTH116
            found[device] = (info.f_blocks - info.f_bfree) * info.f_frsize
    return found


def _bytes_in_memfds(pids: Iterable[int]) -> dict[int, int]:
    """Return the bytes in memfd files, by device."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as handles:
            for handle in handles:
                with suppress(OSError):
                    if os.readlink(handle.path).startswith("/memfd:"):  # noqa: PTH115
                        info = os.stat(handle.path)  # noqa: PTH116
                        sizes[info.st_dev, info.st_ino] = info.st_blocks * 512
    found: dict[int, int] = {}
    for (device, _), size in sizes.items():
        found[device] = found.get(device, 0) + size
    return found


def _quick_bytes(pid: int) -> int:
    return _sum_fields(_read(f"/proc/{pid}/status"), QUICK_FIELDS)


def _exact_bytes(pid: int, devices: frozenset[int]) -> int:
    """Leave out mappings of files that are counted by device."""
    rollup = _read(f"/proc/{pid}/smaps_rollup")
    if not rollup:  # it has ended, or the kernel doesn't show it
        return _quick_bytes(pid)
    total = _sum_fields(rollup, EXACT_FIELDS)
    if devices and _sum_fields(rollup, frozenset({b"Pss_Shmem"})):
        total -= _mapped_bytes(_read(f"/proc/{pid}/smaps"), devices)
    return total


def _sum_fields(text: bytes, names: frozenset[bytes]) -> int:
    total = 0
    for line in text.splitlines():
        name, _, value = line.partition(b":")
        if name in names:
            total += int(value.split()[0]) * 1024
    return total


def _mapped_bytes(text: bytes, devices: frozenset[int]) -> int:
    """Return mapped bytes of files on these devices, without private copies."""
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
        with open(path, "rb") as file:  # noqa: PTH123 - runs for every process
            return file.read()
    except OSError:
        return b""
