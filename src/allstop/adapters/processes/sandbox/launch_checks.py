"""Launches that could be mistaken for something else."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from allstop.adapters.processes.sandbox.box_paths import HOME
from allstop.ports import Box, Launch, LaunchError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refuse_unspeakable(launch: Launch) -> None:
    """Arguments end with a zero byte: one inside would begin a new argument."""
    if not launch.argv or not launch.argv[0]:
        raise LaunchError("there is no program to start")
    box = launch.box
    _refuse_crooked(box)
    spoken = (*launch.argv, *launch.env.values(), box.home, box.workspace or "", box.at)
    if any("\0" in text for text in (*spoken, *box.objects, *box.read)):
        raise LaunchError("a zero byte can't be part of an argument, a value or a path")
    for name in launch.env:
        if not NAME.fullmatch(name):
            raise LaunchError(f"{name!r} can't be the name of an environment variable")


def _refuse_crooked(box: Box) -> None:
    for path in filter(None, (box.home, box.workspace, box.at, *box.objects, *box.read)):
        if not _is_plain(path):
            raise LaunchError(f"{path!r} is no plain absolute path")
    if box.workspace and box.at in ("/", HOME):
        raise LaunchError(f"a workspace can't be at {box.at}")


@lru_cache(maxsize=1024)
def _is_plain(path: str) -> bool:
    return path.startswith("/") and os.path.normpath(path) == path
