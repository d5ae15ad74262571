"""The folders of a workspace, and the scripts that run git in them, inside the box."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import msgspec
from msgspec import Struct

_GIT = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0"

MAKE = f"""
set -eu
base=$1; branch=$2; shift 2
git init -q -b "$branch" .
for store in "$@"; do printf '%s\\n' "$store"; done >.git/objects/info/alternates
git config user.name "Allstop"
git config user.email "agent@allstop.invalid"
git config gc.auto 0
{_GIT} reset -q --hard "$base"
"""
"""Borrow the objects, take the base."""

MAKE_FROM_PACK = f"""
set -eu
base=$1; branch=$2
git init -q -b "$branch" .
git config user.name "Allstop"
git config user.email "agent@allstop.invalid"
git config gc.auto 0
{_GIT} bundle unbundle "$HOME/base.bundle" >/dev/null
rm -f "$HOME/base.bundle"
{_GIT} reset -q --hard "$base"
"""
"""Where the objects can't be borrowed they were sent along."""

TIDY = """
find .git -name '*.lock' -delete
"""
"""Whoever held these is dead: nothing else runs in a workspace that is being taken up."""

EXCLUDE = """
for path in "$@"; do printf '/%s\\n' "$path"; done >>.git/info/exclude
"""

KEEP = f"""
set -eu
base=$1; message=$2
rm -f .git/index.lock
{_GIT} add -A
{_GIT} diff --cached --quiet || {_GIT} commit -q --no-verify -m "$message"
printf 'head %s\\n' "$(git rev-parse HEAD)"
printf 'commits %s\\n' "$(git rev-list --count "$base..HEAD")"
printf 'files %s\\n' "$({_GIT} diff --name-only "$base" HEAD | wc -l)"
"""
"""What was left uncommitted is the agent's work too."""

SEND = f'{_GIT} bundle create -q - HEAD "^$1"'
"""The commits since the base, to standard output."""


class Meta(Struct, frozen=True, kw_only=True):
    """What the host knows of a workspace; kept where no agent can write."""

    base: str
    target: str
    borrows: bool = True
    port: int = 0  # the first of its own range


FIRST_PORT, PORTS = 41_000, 20
"""Each workspace has so many ports of its own, from the first one on."""


def free_port(workspaces: Path) -> int:
    """The first of a range that no other workspace has."""
    metas = (Tree(folder).meta() for folder in workspaces.iterdir() if folder.is_dir())
    taken = {meta.port for meta in metas if meta is not None}
    return next(port for port in range(FIRST_PORT, 65_000, PORTS) if port not in taken)


class Tree:
    """One workspace on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "tree"
        self.home = folder / "home"
        self._meta = folder / "meta.json"

    def meta(self) -> Meta | None:
        """None where it was never finished."""
        try:
            return msgspec.json.decode(self._meta.read_bytes(), type=Meta)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def finish(self, meta: Meta) -> None:
        """From now on it is taken up as it is."""
        waiting = self._meta.with_suffix(".new")
        waiting.write_bytes(msgspec.json.encode(meta))
        waiting.replace(self._meta)

    def make(self) -> None:
        """Empty folders, whatever was there before."""
        self.remove()
        for folder in (self.folder, self.work, self.home):
            folder.mkdir(mode=0o700, parents=True)

    def remove(self) -> None:
        remove_tree(self.folder)


def remove_tree(folder: Path) -> None:
    """Also where a program made folders that not even their owner may enter."""
    if not folder.exists():
        return
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(parent, name)  # noqa: PTH118 - walked by name
            if not stat.S_ISLNK(os.lstat(path).st_mode):
                os.chmod(path, 0o700, follow_symlinks=True)  # noqa: PTH101
    shutil.rmtree(folder)
