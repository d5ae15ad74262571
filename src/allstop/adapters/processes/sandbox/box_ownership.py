"""As root, gives folders to the user that boxed programs run as."""

import os
from pathlib import Path

from allstop.adapters.processes.sandbox.host_tools import Host
from allstop.ports import Box


def hand_over_box(box: Box, host: Host) -> None:
    """Give away a workspace while it is empty or fresh, and a home with the files prepared in it.

    Later everything in them belongs to the box's user anyway.
    """
    if not host.is_root:
        return
    if box.workspace and _is_ours(box.workspace) and (box.fresh or _is_empty(box.workspace)):
        hand_over(Path(box.workspace), host)
    if _is_ours(box.home):
        hand_over(Path(box.home), host)


def hand_over(path: Path, host: Host) -> None:
    """Give a file, or a folder with everything of ours in it, to the box's user."""
    if not host.is_root:
        return
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            _give(Path(folder, name), host)
    _give(path, host)  # last: until then the box's user can't change its content


def _give(path: Path, host: Host) -> None:
    if _is_ours(path):
        os.chown(path, host.box_uid, host.box_gid, follow_symlinks=False)


def _is_empty(folder: str) -> bool:
    return not os.listdir(folder)  # noqa: PTH208 - Path objects are slow


def _is_ours(path: Path | str) -> bool:
    return os.lstat(path).st_uid == os.geteuid()
