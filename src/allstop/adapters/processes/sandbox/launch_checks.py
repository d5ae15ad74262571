"""Refuses launches with malformed arguments, environment variables or paths."""

import os
import re
from functools import lru_cache

from allstop.adapters.processes.sandbox.box_paths import HOME
from allstop.ports import Box, Launch, LaunchError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refuse_malformed(launch: Launch) -> None:
    """Refuse zero bytes and bad names: a zero byte ends an argument and would begin another one.

    Raises:
        LaunchError: the launch is malformed.
    """
    if not launch.argv or not launch.argv[0]:
        raise LaunchError("the command is empty", code="bad_launch")
    box = launch.box
    _refuse_bad_paths(box)
    texts = (*launch.argv, *launch.env.values(), box.home, box.workspace or "", box.at)
    if any("\0" in text for text in (*texts, *box.objects, *box.read)):
        message = "arguments, environment values and paths can't contain a zero byte"
        raise LaunchError(message, code="bad_launch")
    for name in launch.env:
        if not NAME.fullmatch(name):
            message = f"{name!r} isn't a valid name of an environment variable"
            raise LaunchError(message, code="bad_launch")


def _refuse_bad_paths(box: Box) -> None:
    for path in filter(None, (box.home, box.workspace, box.at, *box.objects, *box.read)):
        if not _is_normalized(path):
            raise LaunchError(f"{path!r} isn't a normalized absolute path", code="bad_launch")
    if box.workspace and box.at in ("/", HOME):
        raise LaunchError(f"a workspace can't be mounted at {box.at}", code="bad_launch")


@lru_cache(maxsize=1024)
def _is_normalized(path: str) -> bool:
    return path.startswith("/") and os.path.normpath(path) == path
