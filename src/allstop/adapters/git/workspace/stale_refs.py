"""Refs left by a deleted `.allstop` folder; a task of the same name must not continue from them."""

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import KEPT_REFS, split_ref, workspace_name
from allstop.adapters.git.workspace.salvage import heads_of, next_backup


async def find_stale_refs(repository: Repository) -> dict[str, str]:
    """Return the refs that keep commits of this checkout's workspaces."""
    found = await repository.refs(*KEPT_REFS)
    return {ref: at for ref, at in found.items() if repository.own.folder_of(ref) is not None}


async def back_up_and_delete(repository: Repository, refs: dict[str, str]) -> list[str]:
    """Delete these refs; commits that are on no branch get backup refs, which are returned.

    Raises:
        GitError: the repository can't be written, or a ref has changed in the meantime.
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
