"""Where things are in a box, and where the same things are on the host."""

from __future__ import annotations

from pathlib import Path

from allstop.adapters.processes.mounts import is_within
from allstop.ports import Box

HOME = "/home/agent"
OBJECTS = "/run/allstop/objects"


def on_host(path: str, box: Box) -> Path:
    """Where a place of the box is on the host: the innermost mount decides."""
    mounted = [(HOME, box.home), *((read, read) for read in box.read), ("/", "/")]
    if box.workspace:
        mounted.insert(0, (box.at, box.workspace))
    around = [(dest, source) for dest, source in mounted if is_within(path, dest)]
    dest, source = max(around, key=lambda mount: len(mount[0]))
    return Path(source, Path(path).relative_to(dest))
