"""Fetches every branch, every stash and the tree of a workspace before it is removed."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

import anyio

from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import is_commit_name
from allstop.adapters.git.repository.tree_limits import TreeLimits
from allstop.adapters.git.workspace import fetch_work
from allstop.adapters.git.workspace.box_git import BoxGit
from allstop.adapters.git.workspace.box_scripts import GATHER, exclude_paths
from allstop.adapters.git.workspace.change_summary import shorten_names
from allstop.adapters.git.workspace.clone_layout import loose_links
from allstop.adapters.git.workspace.folders import Meta
from allstop.ports import Box

WITHIN_S = 600.0
MAX_REFS = 1000
"""Beyond this, nobody could find a commit among the backup refs."""


class _Header(NamedTuple):
    commits: list[str]  # the first has the current tree
    pack_at: int


async def salvage(
    repository: Repository, box_git: BoxGit, box: Box, label: str, meta: Meta, folder: Path
) -> list[str]:
    """Return the commits that hold everything; no ref keeps them yet.

    Raises:
        GitError, BoxFailedError, LaunchError, UnsafeError, OSError: not everything can be fetched.
    """
    message = f"What was in the workspace {meta.name}"
    with (
        anyio.fail_after(WITHIN_S),
        tempfile.SpooledTemporaryFile(fetch_work.IN_MEMORY, "w+b", 0, dir=str(folder)) as spool,
    ):
        await box_git.receive(
            box, label, GATHER, meta.base, message, *exclude_paths(meta.excluded),
            write=spool.write, most_bytes=fetch_work.MAX_BYTES,
        )  # fmt: skip
        header = _parse_header(spool)
        await fetch_work.unpack(repository, spool, header.pack_at)
    await _refuse_missing_or_oversized(repository, header.commits, meta.base)
    await _refuse_nested_repositories(repository, meta.base, header.commits[0])
    return header.commits


async def heads_of(repository: Repository, commits: Sequence[str]) -> list[str]:
    """Return the commits that are no ancestors of the others."""
    if len(commits) < 2:
        return list(commits)
    return (await repository.git("merge-base", "--independent", *commits)).split()


async def next_backup(repository: Repository, workspace: str, commit: str) -> str:
    """Return the backup ref that keeps this commit already, or the name of the next one."""
    kept = await repository.refs(repository.own.backups(workspace))
    same = [ref for ref, backed_up in kept.items() if backed_up == commit]
    taken = [int(ref.rpartition("/")[2]) for ref in kept if ref.rpartition("/")[2].isdigit()]
    return same[0] if same else f"{repository.own.backups(workspace)}{max(taken, default=0) + 1}"


def _parse_header(spool: IO[bytes]) -> _Header:
    spool.seek(0)
    lines, gap, _ = spool.read(66 * (MAX_REFS + 2)).partition(b"\n\n")
    commits = list(dict.fromkeys(lines.decode(errors="replace").split("\n")))
    if not gap or len(commits) > MAX_REFS:
        raise GitError(
            f"the workspace has more than {MAX_REFS} branches, tags and stashes",
            code="too_many_refs",
        )
    if not all(map(is_commit_name, commits)):
        raise GitError("the workspace sent no commit", code="bad_workspace_answer")
    return _Header(commits, len(lines) + len(gap))


async def _refuse_missing_or_oversized(
    repository: Repository, commits: Sequence[str], base: str
) -> None:
    wanted = "".join(f"{line}\n" for line in (*commits, f"^{base}")).encode()
    out = await repository.output("rev-list", "--objects", "--stdin", stdin=wanted)
    await TreeLimits(repository).check(base, out.splitlines())


async def _refuse_nested_repositories(repository: Repository, base: str, commit: str) -> None:
    """Raises GitError if the tree contains other repositories, of which git would keep only a link."""
    changed = await fetch_work.changed_files(repository, base, commit)
    links = {raw.path: raw.new for raw in changed if raw.new_mode == fetch_work.LINK}
    loose = await loose_links(repository, commit, links) if links else []
    if loose:
        names = ", ".join(shorten_names(loose))
        raise GitError(f"it contains other git repositories: {names}", code="nested_repositories")
