"""A person works on a task by hand: in a clone of their own, never in the agent's tree."""

from __future__ import annotations

import os
from pathlib import Path

from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import folder_name

_PLAIN = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")


async def lend(repository: Repository, workspace: str, at: Path) -> str:
    """Make a clone there with the work as it last came home; its commit.

    Raises:
        GitError: there is something already, or nothing to lend.
    """
    must_be_free(at)
    commit = await _latest(repository, workspace)
    await repository.git(*_PLAIN, "clone", "-q", "--no-checkout", str(repository.root), str(at))
    clone = Repository(at)
    await clone.git(*_PLAIN, "fetch", "-q", "--no-tags", str(repository.root), commit)
    branch = f"allstop/{folder_name(workspace)}"
    await clone.git(*_PLAIN, "checkout", "-q", "-B", branch, commit)
    return commit


def must_be_free(at: Path) -> None:
    """
    Raises:
        GitError: something is there already.
    """
    if at.exists() and not (at.is_dir() and not any(at.iterdir())):
        raise GitError(f"{at} is there already", "name another folder with --at")


async def take_back(repository: Repository, workspace: str, at: Path) -> str:
    """The commit that the person's clone stands at, brought here and kept by a ref.

    Raises:
        GitError: it is not committed, or there is no such clone.
    """
    if not (at / ".git").exists():
        raise GitError(f"{at} is no clone", "name its folder with --at")
    if await Repository(at).git(*_PLAIN, "status", "--porcelain"):
        raise GitError(f"not everything in {at} is committed", "commit it, or remove it")
    ref = repository.own.given(workspace)
    into = f"+HEAD:{ref}"
    fetch = ("fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
    await repository.git(*_PLAIN, *fetch, os.fspath(at), into)
    commit = await repository.commit(ref)
    assert commit is not None, "it was just written"
    return commit


async def _latest(repository: Repository, workspace: str) -> str:
    for ref in (repository.own.tip(workspace), repository.own.base(workspace)):
        if (commit := await repository.commit(ref)) is not None:
            return commit
    raise GitError(f"there is no work of {workspace} yet", "it has not been started")
