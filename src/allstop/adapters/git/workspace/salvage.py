"""All that is in a workspace, brought home before it goes: every branch, every stash, the tree itself."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

import anyio

from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import is_commit_name
from allstop.adapters.git.workspace.box_git import Boxes
from allstop.adapters.git.workspace.box_scripts import GATHER, not_work
from allstop.adapters.git.workspace.change_summary import named
from allstop.adapters.git.workspace.clone_layout import loose_links
from allstop.adapters.git.workspace.fetch_work import (
    IN_MEMORY,
    LINK,
    MOST_BYTES,
    changed_files,
    take_in,
)
from allstop.adapters.git.workspace.folders import Meta
from allstop.ports import Box

WITHIN_S = 600.0
MOST_REFS = 1000
"""With more of them, nobody could find again what is kept."""


class _Told(NamedTuple):
    commits: list[str]  # the first is the tree as it is
    pack_at: int


async def salvage(
    repository: Repository, boxes: Boxes, place: Box, label: str, meta: Meta, folder: Path
) -> list[str]:
    """The commits that hold all of it; no ref keeps them yet.

    Raises:
        GitError, BoxFailedError, LaunchError, UnsafeError, OSError: not all of it can be had.
    """
    message = f"What was in the workspace {meta.name}"
    with (
        anyio.fail_after(WITHIN_S),
        tempfile.SpooledTemporaryFile(IN_MEMORY, "w+b", 0, dir=str(folder)) as spool,
    ):
        await boxes.receive(
            place, label, GATHER, meta.base, message, *not_work(meta.excluded),
            write=spool.write, most_bytes=MOST_BYTES,
        )  # fmt: skip
        told = _told(spool)
        await take_in(repository, spool, told.pack_at)
    await _refuse_gaps(repository, told.commits, meta.base)
    await _refuse_others(repository, meta.base, told.commits[0])
    return told.commits


async def heads_of(repository: Repository, commits: Sequence[str]) -> list[str]:
    """Those that none of the others has in its history."""
    if len(commits) < 2:
        return list(commits)
    return (await repository.git("merge-base", "--independent", *commits)).split()


async def next_backup(repository: Repository, workspace: str, commit: str) -> str:
    """The ref that keeps this commit of a workspace already, or a new one."""
    kept = await repository.refs(repository.own.backups(workspace))
    same = [ref for ref, backed_up in kept.items() if backed_up == commit]
    taken = [int(ref.rpartition("/")[2]) for ref in kept if ref.rpartition("/")[2].isdigit()]
    return same[0] if same else f"{repository.own.backups(workspace)}{max(taken, default=0) + 1}"


def _told(spool: IO[bytes]) -> _Told:
    spool.seek(0)
    lines, gap, _ = spool.read(66 * (MOST_REFS + 2)).partition(b"\n\n")
    commits = list(dict.fromkeys(lines.decode(errors="replace").split("\n")))
    if not gap or len(commits) > MOST_REFS:
        raise GitError(f"it has more than {MOST_REFS} branches, tags and stashes")
    if not all(map(is_commit_name, commits)):
        raise GitError("the workspace named no commit")
    return _Told(commits, len(lines) + len(gap))


async def _refuse_gaps(repository: Repository, commits: Sequence[str], base: str) -> None:
    wanted = "".join(f"{line}\n" for line in (*commits, f"^{base}")).encode()
    await repository.output("rev-list", "--quiet", "--objects", "--stdin", stdin=wanted)


async def _refuse_others(repository: Repository, base: str, commit: str) -> None:
    """Of a repository in the tree only a link comes along, and what it leads to would be gone."""
    changed = await changed_files(repository, base, commit)
    links = {raw.path: raw.new for raw in changed if raw.new_mode == LINK}
    loose = await loose_links(repository, commit, links) if links else []
    if loose:
        raise GitError(f"repositories of their own are in it: {', '.join(named(loose))}")
