"""Paths in a box, and the same places on the host."""

import os

from allstop.adapters.processes.sandbox.mounts import is_within, tidy
from allstop.ports import Box

HOME = "/home/agent"
OBJECTS = "/run/allstop/objects"


def on_host(path: str, box: Box) -> str:
    """Return the host's path of a path in the box; the innermost mount decides."""
    path = tidy(path)
    dest = source = "/"
    own = ((box.at, box.workspace), (HOME, box.home)) if box.workspace else ((HOME, box.home),)
    for there, here in (*own, *((read, read) for read in box.read)):
        if len(there) > len(dest) and is_within(path, there):
            dest, source = there, here
    inside = path[len(dest) :].lstrip("/")
    return os.path.join(source, inside) if inside else source  # noqa: PTH118
