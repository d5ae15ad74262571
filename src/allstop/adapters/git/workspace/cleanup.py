"""Workspaces that lie about: what is in them, and removing them without losing anybody's work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import anyio
from msgspec import Struct

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import (
    KEPT_REFS,
    branch_ref,
    folder_name,
    is_commit_name,
    name_of,
    revert_ref,
)
from allstop.adapters.git.workspace.box_git import TROUBLE, Boxes
from allstop.adapters.git.workspace.box_scripts import LOOK
from allstop.adapters.git.workspace.folders import Tree
from allstop.adapters.git.workspace.salvage import heads_of, next_backup, salvage
from allstop.adapters.git.workspace.workspaces import GitWorkspaces
from allstop.core.errors import AllstopError
from allstop.ports import Launcher

LOOK_WITHIN_S = 60.0
REVERTS = "refs/allstop/revert/"


class State(StrEnum):
    WHOLE = "whole"
    UNFINISHED = "unfinished"  # it was never ready to be worked in
    DAMAGED = "damaged"  # nobody can say what is in it
    GONE = "gone"  # only its refs are left


class Leftover(Struct, frozen=True, kw_only=True):
    """One workspace, as far as can be seen without running anything of it outside its box."""

    name: str
    state: State
    size_bytes: int = 0
    used_at: datetime | None = None
    target: str = ""
    unmerged: bool = False  # it has commits that its target has not
    uncommitted: bool = False  # changes, or stashes
    put_aside: tuple[str, ...] = ()  # folders with what was in it when it was damaged

    @property
    def is_safe(self) -> bool:
        """Whether nothing is lost with it."""
        has_work = self.unmerged or self.uncommitted or bool(self.put_aside)
        return self.state is not State.DAMAGED and not has_work

    @property
    def has_work(self) -> bool:
        """Whether there is something in it that git can be asked for."""
        return self.state is State.WHOLE and (self.unmerged or self.uncommitted)

    @property
    def cannot_be_kept(self) -> str:
        """What no ref keeps, once it is removed."""
        what = [
            *(["what was in it when it was damaged"] if self.state is State.DAMAGED else []),
            *(f"what was put aside in {path}" for path in self.put_aside),
        ]
        return f"nothing keeps {' and '.join(what)}" if what else ""

    @property
    def why_not(self) -> str:
        """What would be lost with it."""
        if self.state is State.DAMAGED:
            return "it is damaged, and nobody can say what is in it"
        what = [
            *(["commits that are not merged"] if self.unmerged else []),
            *(["changes that are not committed"] if self.uncommitted else []),
            *(f"what was put aside when it was damaged ({path})" for path in self.put_aside),
        ]
        return f"it has {' and '.join(what)}"


class Removal(Struct, frozen=True, kw_only=True):
    """What became of a workspace that was to be removed."""

    name: str
    removed: bool
    reason: str = ""  # why it was not, or not without loss
    backup: str = ""  # the refs that keep its commits
    freed_bytes: int = 0


class Cleaning:
    """Only for workspaces that nobody works in now: the caller knows which those are."""

    def __init__(
        self, repository: Repository, folder: Path, *, launcher: Launcher, workspaces: GitWorkspaces
    ) -> None:
        self._repository = repository
        self._own = repository.own
        self._folder = folder
        self._boxes = Boxes(launcher)
        self._workspaces = workspaces

    async def leftovers(self, label: str) -> tuple[Leftover, ...]:
        """All there are, by name.

        Raises:
            GitError: the repository can't be read.
        """
        refs = await self._repository.refs(*KEPT_REFS)
        named = {self._own.folder_of(ref) for ref in refs} - {None}
        folders = sorted(filter(None, named | _folders(self._folder)))
        return tuple([await self._look(folder, label) for folder in folders])

    async def remove(
        self, workspace: str, label: str, *, force: bool = False, branch: str = ""
    ) -> Removal:
        """Remove it where nothing is lost; with `force` too, and its commits are kept by a ref.

        `branch` is where its work was brought to, and is set back to where that began.

        Raises:
            GitError: the repository can't be written.
        """
        found = await self._look(folder_name(workspace), label)
        if not force and not found.is_safe:
            return Removal(name=workspace, removed=False, reason=found.why_not)
        tree = Tree(self._folder / folder_name(workspace))
        try:
            inside = await self._bring_home(tree, workspace, label) if found.has_work else []
        except TROUBLE as error:
            why = str(error) or "it takes too long"
            reason = f"not all of it can be kept: {why}; it is in {tree.work}"
            return Removal(name=workspace, removed=False, reason=reason)
        backup = await self._let_go(workspace, found.target, branch, inside)
        await anyio.to_thread.run_sync(tree.remove)
        return Removal(
            name=workspace,
            removed=True,
            reason=found.cannot_be_kept,
            backup=backup,
            freed_bytes=found.size_bytes,
        )

    async def reset(self, workspace: str, label: str, branch: str = "") -> str:
        """Throw work away that isn't merged; the refs that keep it, "" where there was none.

        Raises:
            AllstopError: not all of it can be kept.
            GitError: the repository can't be written.
        """
        await self.refuse_if_lost(workspace, label)
        removal = await self.remove(workspace, label, force=True, branch=branch)
        if not removal.removed:
            raise AllstopError(f"the workspace of {workspace} stays: {removal.reason}")
        return removal.backup

    async def refuse_if_lost(self, workspace: str, label: str) -> None:
        """
        Raises:
            AllstopError: something is in the workspace that no ref can keep.
        """
        found = await self._look(folder_name(workspace), label)
        if found.cannot_be_kept:
            raise AllstopError(
                f"the workspace of {workspace} stays: {found.why_not}",
                f"`allstop clean --force {workspace}` removes it with that",
            )

    async def refuse_if_in_use(self, workspace: str, branch: str) -> None:
        """
        Raises:
            AllstopError: a person works on the branch that its work was brought to.
        """
        ref, tip = branch_ref(branch), await self._repository.commit(self._own.tip(workspace))
        there = await self._repository.branch(branch)
        if ref is None or tip is None or there is None:
            return
        if path := await self._repository.git("for-each-ref", "--format=%(worktreepath)", ref):
            raise AllstopError(f"{branch} is checked out in {path}", "switch to another one first")
        if not await self._repository.is_ancestor(there, tip):
            raise AllstopError(f"{branch} has other commits", "rename it first")

    async def drop_refs(self, workspace: str) -> None:
        """For work that is merged: let go of what was kept for it."""
        await self._repository.set_refs(*_deletions(await self._refs_of(workspace)))

    # --- looking ---

    async def _look(self, folder: str, label: str) -> Leftover:
        tree = Tree(self._folder / folder)
        meta = tree.meta()
        name = meta.name if meta and meta.name else name_of(folder)
        if not tree.folder.is_dir():
            unmerged = await self._are_unmerged(await self._came_home(name), name, "")
            return Leftover(name=name, state=State.GONE, unmerged=unmerged)
        size_bytes, used_at = await anyio.to_thread.run_sync(_measured, tree.folder)
        if meta is None:
            unmerged = await self._are_unmerged(await self._came_home(name), name, "")
            return Leftover(
                name=name,
                state=State.UNFINISHED,
                size_bytes=size_bytes,
                used_at=used_at,
                unmerged=unmerged,
            )
        heads, is_dirty = await self._inside(name, label)
        known = [*heads, *await self._came_home(name)]
        return Leftover(
            name=name,
            state=State.WHOLE if heads else State.DAMAGED,
            size_bytes=size_bytes,
            used_at=used_at,
            target=meta.target,
            unmerged=await self._are_unmerged(known, name, meta.target),
            uncommitted=is_dirty,
            put_aside=tuple(map(str, tree.put_aside())),
        )

    async def _inside(self, workspace: str, label: str) -> tuple[list[str], bool]:
        """The last commits of all branches, and whether anything is in it that isn't in a commit."""
        said: list[str] = []
        try:
            with anyio.move_on_after(LOOK_WITHIN_S):
                place = self._workspaces.place(workspace)
                said = (await self._boxes.run(place, label, LOOK)).splitlines()
        except TROUBLE:
            return [], False
        head, changes, stashes, *others = said if len(said) >= 3 else ("", "", "")
        if not all(map(is_commit_name, [head, *others])):
            return [], False
        return [head, *others], changes != "clean" or stashes != "0"

    async def _are_unmerged(self, commits: Sequence[str], workspace: str, target: str) -> bool:
        """Ancestry is looked up at home: a commit that never came here is not merged."""
        if not commits:
            return False
        if None in await self._repository.named(*(f"{commit}^{{commit}}" for commit in commits)):
            return True
        return bool(await self._unmerged(commits, workspace, target, "--max-count=1"))

    async def _unmerged(
        self, commits: Sequence[str], workspace: str, target: str, *how: str
    ) -> set[str]:
        """What these have in their history, without what the target or the base has."""
        branch = await self._repository.branch(target) if target else None
        lines = filter(None, [branch, await self._repository.commit(self._own.base(workspace))])
        wanted = "".join(f"{word}\n" for word in (*commits, *(f"^{line}" for line in lines)))
        found = await self._repository.output("rev-list", *how, "--stdin", stdin=wanted.encode())
        return set(found.decode().split())

    async def _came_home(self, workspace: str) -> list[str]:
        """The work as it came last, and what a person has made of it."""
        found = await self._repository.refs(self._own.tip(workspace), self._own.given(workspace))
        return list(found.values())

    # --- removing ---

    async def _bring_home(self, tree: Tree, workspace: str, label: str) -> list[str]:
        """The commits that have all that is in it, side branches and stashes too."""
        meta = tree.meta()
        assert meta is not None, "it was looked at and is whole"
        place = self._workspaces.place(workspace)
        return await salvage(self._repository, self._boxes, place, label, meta, self._folder)

    async def _let_go(self, workspace: str, target: str, branch: str, inside: Sequence[str]) -> str:
        """Drop its refs, once others keep the commits that would be lost; those others."""
        refs = await self._refs_of(workspace, target)
        backups: list[str] = []
        known = [*await self._came_home(workspace), *inside]
        unmerged = await self._unmerged(known, workspace, target) if known else set()
        lost = [commit for commit in known if commit in unmerged]
        for commit in await heads_of(self._repository, lost):
            backups.append(await next_backup(self._repository, workspace, commit))
            await self._repository.set_refs(f"update {backups[-1]} {commit}")
        await self._repository.set_refs(*_deletions(refs), *await self._set_back(workspace, branch))
        return " and ".join(dict.fromkeys(backups))

    async def _set_back(self, workspace: str, branch: str) -> list[str]:
        """What was kept is no longer on the branch; one with other commits is a person's."""
        there = await self._repository.branch(branch)
        base = await self._repository.commit(self._own.base(workspace))
        tip = await self._repository.commit(self._own.tip(workspace))
        if there is None or base is None or tip is None or there == base:
            return []
        is_ours = await self._repository.is_ancestor(there, tip)
        return [f"update refs/heads/{branch} {base} {there}"] if is_ours else []

    async def _refs_of(self, workspace: str, target: str = "") -> dict[str, str]:
        """All that is kept for it, and every revert that its target has: nobody needs those."""
        own = self._own
        kinds = (own.base, own.tip, own.merge, own.given)
        refs = await self._repository.refs(*(ref(workspace) for ref in kinds))
        merge = refs.get(own.merge(workspace))
        reverts = await self._repository.refs(revert_ref(merge)) if merge else {}
        line = branch_ref(target) if await self._repository.branch(target) else None
        landed = await self._repository.refs(f"--merged={line}", REVERTS) if line else {}
        return {**refs, **reverts, **landed}


def _deletions(refs: dict[str, str]) -> list[str]:
    return [f"delete {ref} {commit}" for ref, commit in refs.items()]


def _folders(folder: Path) -> set[str]:
    if not folder.is_dir():
        return set()
    return {path.name for path in folder.iterdir() if path.is_dir() and not path.is_symlink()}


def _measured(folder: Path) -> tuple[int, datetime]:
    """All that lies in it, links not followed; and when it was last written down."""
    size, waiting = 0, [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # closed to us, or gone meanwhile
    last = max(_written_at(folder / name) for name in ("", "meta.json", "tree", "tree/.git/index"))
    return size, datetime.fromtimestamp(last, UTC)


def _written_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
