"""Lets a person work on a task by hand, in a separate clone and never in the agent's tree."""

import os
from pathlib import Path

from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import folder_name

_PLAIN = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")


async def lend_clone(repository: Repository, workspace: str, at: Path) -> str:
    """Clone the last fetched work into this folder; returns its commit.

    Raises GitError if the folder isn't empty, or there is no work.
    """
    require_empty_folder(at)
    commit = await _latest_commit(repository, workspace)
    await repository.git(*_PLAIN, "clone", "-q", "--no-checkout", str(repository.git_root), str(at))
    clone = Repository(at)
    await clone.git(*_PLAIN, "fetch", "-q", "--no-tags", str(repository.git_root), commit)
    branch = f"allstop/{folder_name(workspace)}"
    await clone.git(*_PLAIN, "checkout", "-q", "-B", branch, commit)
    return commit


def require_empty_folder(at: Path) -> None:
    """Raises GitError if the folder isn't empty."""
    if at.exists() and not (at.is_dir() and not any(at.iterdir())):
        raise GitError(
            f"{at} exists already", "name another folder with --at", code="folder_not_empty"
        )


async def fetch_takeover(repository: Repository, workspace: str, at: Path) -> str:
    """Fetch the commit that the person's clone is at, and keep it in a ref.

    Raises GitError if the clone has uncommitted changes, or doesn't exist.
    """
    if not (at / ".git").exists():
        raise GitError(f"{at} isn't a clone", "name its folder with --at", code="not_a_clone")
    if await Repository(at).git(*_PLAIN, "status", "--porcelain"):
        raise GitError(
            f"{at} has uncommitted changes", "commit or remove them", code="uncommitted_changes"
        )
    ref = repository.own.given(workspace)
    into = f"+HEAD:{ref}"
    fetch = ("fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
    await repository.git(*_PLAIN, *fetch, os.fspath(at), into)
    commit = await repository.commit(ref)
    assert commit is not None, "it was just written"
    return commit


async def _latest_commit(repository: Repository, workspace: str) -> str:
    for ref in (repository.own.tip(workspace), repository.own.base(workspace)):
        if (commit := await repository.commit(ref)) is not None:
            return commit
    raise GitError(f"{workspace} has no work yet", "start it first", code="no_work")
