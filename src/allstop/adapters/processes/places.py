"""Where things are in a box, and where the same things are on the host."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

from allstop.adapters.processes.mounts import is_within
from allstop.ports import Box

HOME = "/home/agent"
OBJECTS = "/run/allstop/objects"


def on_host(path: str, box: Box) -> str:
    """Where a place of the box is on the host: the innermost mount decides."""
    if "//" in path or "/." in path or path.endswith("/"):  # rarely; and paths are slow to make
        path = str(PurePosixPath(path))
    mounted = [(HOME, box.home), *((read, read) for read in box.read), ("/", "/")]
    if box.workspace:
        mounted.insert(0, (box.at, box.workspace))
    around = [(dest, source) for dest, source in mounted if is_within(path, dest)]
    dest, source = max(around, key=lambda mount: len(mount[0]))
    inside = path[len(dest) :].lstrip("/")
    return os.path.join(source, inside) if inside else source  # noqa: PTH118
