"""How busy this machine is: its processors, its memory, and the disk of a folder."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

STAT, MEMORY = Path("/proc/stat"), Path("/proc/meminfo")


class LoadMeter:
    """The share of busy processors is that since the last call. What can't be seen is left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = _processor_times()

    def read(self) -> dict[str, float]:
        return {**self._processors(), **_memory(), **_disk(self._folder)}

    def _processors(self) -> dict[str, float]:
        before, self._before = self._before, _processor_times()
        if before is None or self._before is None:
            return {}
        idle, total = self._before[0] - before[0], self._before[1] - before[1]
        return {"cpu": round(1 - idle / total, 2)} if total > 0 else {}


def _processor_times() -> tuple[int, int] | None:
    """Idle time and all time of all processors, in ticks."""
    try:
        times = [int(each) for each in STAT.read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        return None
    return times[3] + times[4], sum(times)


def _memory() -> dict[str, float]:
    try:
        lines = dict(line.split(":", 1) for line in MEMORY.read_text().splitlines())
        total, free = (int(lines[key].split()[0]) << 10 for key in ("MemTotal", "MemAvailable"))
    except (OSError, ValueError, KeyError, IndexError):
        return {}
    return {"memory_used": total - free, "memory_total": total}


def _disk(folder: Path) -> dict[str, float]:
    with suppress(OSError):
        found = shutil.disk_usage(folder if folder.exists() else os.path.sep)
        return {"disk_free": found.free, "disk_total": found.total}
    return {}
