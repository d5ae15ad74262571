"""Refs of linked checkouts that were removed: their boards are gone, and no other one owns them."""

from __future__ import annotations

from pathlib import Path

import anyio
from msgspec import Struct

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import KEPT_REFS, folder_name, name_of, parts_of
from allstop.adapters.git.workspace.cleanup import Removal
from allstop.adapters.git.workspace.stale_refs import disown
from allstop.core.text import counted

ALL_REFS = (*KEPT_REFS, "refs/allstop/backup/")


class Forsaken(Struct, frozen=True, kw_only=True):
    """What a checkout that git no longer knows has left in its repository."""

    name: str  # @ and what git called the checkout
    workspaces: tuple[str, ...]  # whose commits they keep
    refs: int
    commits: int  # that are on no branch

    @property
    def is_safe(self) -> bool:
        """Whether nothing is lost with it."""
        return not self.commits

    @property
    def why_not(self) -> str:
        are = "is" if self.commits == 1 else "are"
        return f"{counted(self.commits, 'commit')} of it {are} on no branch"


async def forsaken(repository: Repository) -> list[Forsaken]:
    """By name.

    Raises:
        GitError, OSError: the repository can't be read.
    """
    left = await _left(repository)
    return [await _look(repository, mark, refs) for mark, refs in sorted(left.items())]


async def let_go(repository: Repository, name: str, *, force: bool = False) -> Removal:
    """Remove it where nothing is lost; with `force` too, and its commits are kept by refs of this
    checkout.

    Raises:
        GitError, OSError: the repository can't be read or written.
    """
    mark = name.removeprefix("@")
    refs = (await _left(repository)).get(mark)
    if refs is None:
        return Removal(name=name, removed=False, reason="no checkout that is gone has left that")
    found = await _look(repository, mark, refs)
    if not force and not found.is_safe:
        return Removal(name=name, removed=False, reason=found.why_not)
    backups = await disown(repository, refs)
    return Removal(name=name, removed=True, backup=" and ".join(dict.fromkeys(backups)))


async def _left(repository: Repository) -> dict[str, dict[str, str]]:
    """The refs of each checkout that is gone, by its mark.

    Git has a folder for each that it still lists, also for one that is locked, or whose disk is not
    mounted: of those nothing is touched.
    """
    folder = await repository.common_dir() / "worktrees"
    there = await anyio.to_thread.run_sync(_names_in, folder)
    left: dict[str, dict[str, str]] = {}
    for ref, commit in (await repository.refs(*ALL_REFS)).items():
        _, mark = parts_of(ref)
        if mark and mark not in there:
            left.setdefault(mark, {})[ref] = commit
    return left


def _names_in(folder: Path) -> set[str]:
    try:
        return {folder_name(path.name) for path in folder.iterdir()}
    except FileNotFoundError:  # there is no linked checkout
        return set()


async def _look(repository: Repository, mark: str, refs: dict[str, str]) -> Forsaken:
    commits = dict.fromkeys(refs.values())
    loose = await repository.git("rev-list", "--count", *commits, "--not", "--branches")
    names = sorted({name_of(parts_of(ref)[0]) for ref in refs})
    return Forsaken(name=f"@{mark}", workspaces=tuple(names), refs=len(refs), commits=int(loose))
