"""Refs of removed linked checkouts: their boards are gone, and no other board owns them."""

from pathlib import Path

import anyio
from msgspec import Struct

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import (
    KEPT_REFS,
    folder_name,
    split_ref,
    workspace_name,
)
from allstop.adapters.git.workspace.cleanup import Removal
from allstop.adapters.git.workspace.salvage import heads_of, next_backup
from allstop.core.text import counted

ALL_REFS = (*KEPT_REFS, "refs/allstop/backup/", "refs/allstop/checkpoints/")


class OrphanRefs(Struct, frozen=True, kw_only=True):
    """The refs that a removed linked checkout left in the repository."""

    name: str  # @ and git's name of the checkout
    workspaces: tuple[str, ...]  # the workspaces whose commits they keep
    refs: int
    commits: int  # commits on no branch

    @property
    def is_safe(self) -> bool:
        """Whether removing them loses nothing."""
        return not self.commits

    @property
    def why_unsafe(self) -> str:
        are = "is" if self.commits == 1 else "are"
        return f"{counted(self.commits, 'commit')} of it {are} on no branch"


async def find_orphan_refs(repository: Repository) -> list[OrphanRefs]:
    """Return the refs of removed checkouts, sorted by name.

    Raises GitError or OSError if the repository can't be read.
    """
    orphans = await _refs_by_checkout(repository)
    return [await _describe(repository, mark, refs) for mark, refs in sorted(orphans.items())]


async def remove_orphan_refs(repository: Repository, name: str, *, force: bool = False) -> Removal:
    """Remove them if nothing is lost; with `force` always, keeping their commits in backup refs.

    Raises GitError or OSError if the repository can't be read or written.
    """
    mark = name.removeprefix("@")
    refs = (await _refs_by_checkout(repository)).get(mark)
    if refs is None:
        return Removal(name=name, removed=False, reason="no removed checkout has that name")
    found = await _describe(repository, mark, refs)
    if not force and not found.is_safe:
        return Removal(name=name, removed=False, reason=found.why_unsafe)
    backups = await back_up_and_delete(repository, refs)
    return Removal(name=name, removed=True, backup=" and ".join(dict.fromkeys(backups)))


async def _refs_by_checkout(repository: Repository) -> dict[str, dict[str, str]]:
    """Return the refs of each removed checkout by its mark.

    Git has a folder for each checkout that it lists, even if it is locked or its disk isn't
    mounted. Their refs are not touched.
    """
    folder = await repository.common_dir() / "worktrees"
    there = await anyio.to_thread.run_sync(_names_in, folder)
    orphans: dict[str, dict[str, str]] = {}
    for ref, commit in (await repository.refs(*ALL_REFS)).items():
        _, mark = split_ref(ref)
        if mark and mark not in there:
            orphans.setdefault(mark, {})[ref] = commit
    return orphans


def _names_in(folder: Path) -> set[str]:
    try:
        return {folder_name(path.name) for path in folder.iterdir()}
    except FileNotFoundError:  # no linked checkouts
        return set()


async def _describe(repository: Repository, mark: str, refs: dict[str, str]) -> OrphanRefs:
    commits = dict.fromkeys(refs.values())
    loose = await repository.git("rev-list", "--count", *commits, "--not", "--branches")
    names = sorted({workspace_name(split_ref(ref)[0]) for ref in refs})
    return OrphanRefs(name=f"@{mark}", workspaces=tuple(names), refs=len(refs), commits=int(loose))


async def find_stale_refs(repository: Repository) -> dict[str, str]:
    """Return the refs that keep commits of this checkout's workspaces."""
    found = await repository.refs(*KEPT_REFS)
    return {ref: at for ref, at in found.items() if repository.own.folder_of(ref) is not None}


async def back_up_and_delete(repository: Repository, refs: dict[str, str]) -> list[str]:
    """Delete these refs; commits that are on no branch get backup refs, which are returned.

    Raises GitError if the repository can't be written, or a ref has changed in the meantime.
    """
    works: dict[str, list[str]] = {}
    for ref, commit in refs.items():
        if await _is_on_no_branch(repository, commit):
            works.setdefault(split_ref(ref)[0], []).append(commit)
    backups: list[str] = []
    for folder, commits in works.items():
        for commit in await heads_of(repository, commits):
            backups.append(await next_backup(repository, workspace_name(folder), commit))
            await repository.set_refs(f"update {backups[-1]} {commit}")
    await repository.set_refs(*(f"delete {ref} {commit}" for ref, commit in refs.items()))
    return backups


async def _is_on_no_branch(repository: Repository, commit: str) -> bool:
    return bool(await repository.git("rev-list", "--max-count=1", commit, "--not", "--branches"))
