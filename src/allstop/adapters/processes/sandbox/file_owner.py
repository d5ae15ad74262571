"""As root: folders change hands, because a boxed program is another user."""

from __future__ import annotations

import os
from pathlib import Path

from allstop.adapters.processes.sandbox.host_tools import Host
from allstop.ports import Box


def hand_over_box(box: Box, host: Host) -> None:
    """A workspace is given while it is empty or fresh, a home with what was laid into it.

    Later everything in them belongs to the box's user anyway.
    """
    if not host.is_root:
        return
    if box.workspace and _is_ours(box.workspace) and (box.fresh or _is_empty(box.workspace)):
        hand_over(Path(box.workspace), host)
    if _is_ours(box.home):
        hand_over(Path(box.home), host)


def hand_over(path: Path, host: Host) -> None:
    """Give a file, or a folder and all in it that is ours, to who runs in the box."""
    if not host.is_root:
        return
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            _give(Path(folder, name), host)
    _give(path, host)  # last: until then nobody else can change what is in it


def _give(path: Path, host: Host) -> None:
    if _is_ours(path):
        os.chown(path, host.box_uid, host.box_gid, follow_symlinks=False)


def _is_empty(folder: str) -> bool:
    return not os.listdir(folder)  # noqa: PTH208 - paths are slow to make


def _is_ours(path: Path | str) -> bool:
    return os.lstat(path).st_uid == os.geteuid()
