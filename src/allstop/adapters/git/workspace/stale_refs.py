"""Refs of a store that is gone: a task of a new one, of the same name, must not go on from them."""

from __future__ import annotations

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import KEPT_REFS, name_of, parts_of
from allstop.adapters.git.workspace.salvage import heads_of, next_backup


async def left_behind(repository: Repository) -> dict[str, str]:
    """What is kept for workspaces of this checkout, whoever made them."""
    found = await repository.refs(*KEPT_REFS)
    return {ref: at for ref, at in found.items() if repository.own.folder_of(ref) is not None}


async def disown(repository: Repository, refs: dict[str, str]) -> list[str]:
    """Let go of these; the refs that keep what no branch has.

    Raises:
        GitError: the repository can't be written, or one of them is elsewhere by now.
    """
    works: dict[str, list[str]] = {}
    for ref, commit in refs.items():
        if await _is_loose(repository, commit):
            works.setdefault(parts_of(ref)[0], []).append(commit)
    backups: list[str] = []
    for folder, commits in works.items():
        for commit in await heads_of(repository, commits):
            backups.append(await next_backup(repository, name_of(folder), commit))
            await repository.set_refs(f"update {backups[-1]} {commit}")
    await repository.set_refs(*(f"delete {ref} {commit}" for ref, commit in refs.items()))
    return backups


async def _is_loose(repository: Repository, commit: str) -> bool:
    return bool(await repository.git("rev-list", "--max-count=1", commit, "--not", "--branches"))
