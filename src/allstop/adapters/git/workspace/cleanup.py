"""Lists leftover workspaces and removes them without losing work."""

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
    revert_ref,
    workspace_name,
)
from allstop.adapters.git.workspace.box_git import EXPECTED_ERRORS, BoxGit
from allstop.adapters.git.workspace.box_scripts import INSPECT
from allstop.adapters.git.workspace.folders import WorkspaceFolders
from allstop.adapters.git.workspace.salvage import heads_of, next_backup, salvage
from allstop.adapters.git.workspace.workspaces import GitWorkspaces
from allstop.core.errors import AllstopError
from allstop.ports import Launcher

INSPECT_TIMEOUT_S = 60.0
REVERTS = "refs/allstop/revert/"


class State(StrEnum):
    WHOLE = "whole"
    UNFINISHED = "unfinished"  # its creation did not finish
    DAMAGED = "damaged"  # its content can't be read
    NO_MODE = "gone"  # only its refs remain


class Leftover(Struct, frozen=True, kw_only=True):
    """One workspace, inspected without running any of its programs outside the sandbox."""

    name: str
    state: State
    size_bytes: int = 0
    used_at: datetime | None = None
    target: str = ""
    unmerged: bool = False  # it has commits that its target lacks
    uncommitted: bool = False  # changes, or stashes
    put_aside: tuple[str, ...] = ()  # folders with earlier, damaged contents

    @property
    def is_safe(self) -> bool:
        """Whether removing it loses nothing."""
        has_work = self.unmerged or self.uncommitted or bool(self.put_aside)
        return self.state is not State.DAMAGED and not has_work

    @property
    def has_work(self) -> bool:
        """Whether git can fetch work from it."""
        return self.state is State.WHOLE and (self.unmerged or self.uncommitted)

    @property
    def unrecoverable(self) -> str:
        """Names contents that no ref can keep after removal; "" if there are none."""
        losses = [
            *(["its damaged content"] if self.state is State.DAMAGED else []),
            *(f"the earlier content in {path}" for path in self.put_aside),
        ]
        return f"git can't back up {' and '.join(losses)}" if losses else ""

    @property
    def why_unsafe(self) -> str:
        """Why removing it would lose something."""
        if self.state is State.DAMAGED:
            return "it is damaged and its content can't be read"
        losses = [
            *(["unmerged commits"] if self.unmerged else []),
            *(["uncommitted changes"] if self.uncommitted else []),
            *(f"earlier content, saved when it was damaged ({path})" for path in self.put_aside),
        ]
        return f"it has {' and '.join(losses)}"


class Removal(Struct, frozen=True, kw_only=True):
    """The result of removing a workspace."""

    name: str
    removed: bool
    reason: str = ""  # why it was not removed, or what was lost
    backup: str = ""  # refs that keep its commits
    freed_bytes: int = 0


class WorkspaceCleanup:
    """Inspects and removes workspaces. The caller makes sure that no program runs in them."""

    def __init__(
        self, repository: Repository, folder: Path, *, launcher: Launcher, workspaces: GitWorkspaces
    ) -> None:
        self._repository = repository
        self._own = repository.own
        self._folder = folder
        self._box_git = BoxGit(launcher)
        self._workspaces = workspaces

    async def leftovers(self, label: str) -> tuple[Leftover, ...]:
        """Return all workspaces, sorted by name.

        Raises GitError if the repository can't be read.
        """
        refs = await self._repository.refs(*KEPT_REFS)
        named = {self._own.folder_of(ref) for ref in refs} - {None}
        names = sorted(filter(None, named | _folders(self._folder)))
        return tuple([await self._inspect(folder, label) for folder in names])

    async def remove(
        self, workspace: str, label: str, *, force: bool = False, branch: str = ""
    ) -> Removal:
        """Remove a workspace if nothing is lost.

        With `force` always, keeping its commits in backup refs.

        `branch` received the work; it is reset to the commit where the work started.

        Raises GitError if the repository can't be written.
        """
        found = await self._inspect(folder_name(workspace), label)
        if not force and not found.is_safe:
            return Removal(name=workspace, removed=False, reason=found.why_unsafe)
        folders = WorkspaceFolders(self._folder / folder_name(workspace))
        try:
            inside = await self._fetch_all(folders, workspace, label) if found.has_work else []
        except EXPECTED_ERRORS as error:
            why = str(error) or "git took too long"
            reason = f"its work can't be backed up: {why}; the files are in {folders.work}"
            return Removal(name=workspace, removed=False, reason=reason)
        backup = await self._delete_refs(workspace, found.target, branch, inside)
        await anyio.to_thread.run_sync(folders.remove)
        return Removal(
            name=workspace,
            removed=True,
            reason=found.unrecoverable,
            backup=backup,
            freed_bytes=found.size_bytes,
        )

    async def reset(self, workspace: str, label: str, branch: str = "") -> str:
        """Discard unmerged work; returns the refs that back it up, "" if there was none.

        Raises AllstopError if some of it can't be backed up, and GitError if the repository can't
        be written.
        """
        await self.refuse_if_lost(workspace, label)
        removal = await self.remove(workspace, label, force=True, branch=branch)
        if not removal.removed:
            raise AllstopError(
                f"the workspace of {workspace} was not removed: {removal.reason}",
                code="workspace_not_removed",
            )
        return removal.backup

    async def refuse_if_lost(self, workspace: str, label: str) -> None:
        """Raises AllstopError if the workspace has content that no ref can keep."""
        found = await self._inspect(folder_name(workspace), label)
        if found.unrecoverable:
            raise AllstopError(
                f"the workspace of {workspace} was not removed: {found.why_unsafe}",
                f"`allstop clean --force {workspace}` removes it and loses that content",
                code="workspace_would_be_lost",
            )

    async def refuse_if_in_use(self, workspace: str, branch: str) -> None:
        """Raises AllstopError if a person works on the branch that received the work."""
        ref, tip = branch_ref(branch), await self._repository.commit(self._own.tip(workspace))
        there = await self._repository.branch(branch)
        if ref is None or tip is None or there is None:
            return
        if path := await self._repository.git("for-each-ref", "--format=%(worktreepath)", ref):
            raise AllstopError(
                f"{branch} is checked out in {path}",
                "switch to another branch first",
                code="branch_checked_out",
            )
        if not await self._repository.is_ancestor(there, tip):
            raise AllstopError(
                f"{branch} has commits that Allstop didn't make",
                "rename the branch first",
                code="branch_has_other_commits",
            )

    # --- inspecting ---

    async def _inspect(self, folder: str, label: str) -> Leftover:
        folders = WorkspaceFolders(self._folder / folder)
        meta = folders.meta()
        name = meta.name if meta and meta.name else workspace_name(folder)
        if not folders.folder.is_dir():
            unmerged = await self._are_unmerged(await self._fetched(name), name, "")
            return Leftover(name=name, state=State.NO_MODE, unmerged=unmerged)
        size_bytes, used_at = await anyio.to_thread.run_sync(_size_and_time, folders.folder)
        if meta is None:
            unmerged = await self._are_unmerged(await self._fetched(name), name, "")
            return Leftover(
                name=name,
                state=State.UNFINISHED,
                size_bytes=size_bytes,
                used_at=used_at,
                unmerged=unmerged,
            )
        heads, is_dirty = await self._refs_inside(name, label)
        known = [*heads, *await self._fetched(name)]
        return Leftover(
            name=name,
            state=State.WHOLE if heads else State.DAMAGED,
            size_bytes=size_bytes,
            used_at=used_at,
            target=meta.target,
            unmerged=await self._are_unmerged(known, name, meta.target),
            uncommitted=is_dirty,
            put_aside=tuple(map(str, folders.damaged_copies())),
        )

    async def _refs_inside(self, workspace: str, label: str) -> tuple[list[str], bool]:
        """Return the tips of all refs, and whether there are uncommitted changes or stashes."""
        printed: list[str] = []
        try:
            with anyio.move_on_after(INSPECT_TIMEOUT_S):
                box = self._workspaces.box_of(workspace)
                printed = (await self._box_git.run(box, label, INSPECT)).splitlines()
        except EXPECTED_ERRORS:
            return [], False
        head, changes, stashes, *others = printed if len(printed) >= 3 else ("", "", "")
        if not all(map(is_commit_name, [head, *others])):
            return [], False
        return [head, *others], changes != "clean" or stashes != "0"

    async def _are_unmerged(self, commits: Sequence[str], workspace: str, target: str) -> bool:
        """Whether the target lacks one of these.

        Commits that were never fetched count as unmerged.
        """
        if not commits:
            return False
        if None in await self._repository.resolve(*(f"{commit}^{{commit}}" for commit in commits)):
            return True
        return bool(await self._unmerged(commits, workspace, target, "--max-count=1"))

    async def _unmerged(
        self, commits: Sequence[str], workspace: str, target: str, *how: str
    ) -> set[str]:
        """Return the commits in their history that neither the target nor the base has."""
        branch = await self._repository.branch(target) if target else None
        lines = filter(None, [branch, await self._repository.commit(self._own.base(workspace))])
        wanted = "".join(f"{word}\n" for word in (*commits, *(f"^{line}" for line in lines)))
        found = await self._repository.output("rev-list", *how, "--stdin", stdin=wanted.encode())
        return set(found.decode().split())

    async def _fetched(self, workspace: str) -> list[str]:
        """Return the last fetched work, and the commit that a person made from it."""
        found = await self._repository.refs(self._own.tip(workspace), self._own.given(workspace))
        return list(found.values())

    # --- removing ---

    async def _fetch_all(self, folders: WorkspaceFolders, workspace: str, label: str) -> list[str]:
        """Fetch commits that hold everything in it, side branches and stashes too."""
        meta = folders.meta()
        assert meta is not None, "the caller has found it whole"
        box = self._workspaces.box_of(workspace)
        return await salvage(self._repository, self._box_git, box, label, meta, self._folder)

    async def _delete_refs(
        self, workspace: str, target: str, branch: str, inside: Sequence[str]
    ) -> str:
        """Back up commits that would be lost, delete the workspace's refs, return the backups."""
        refs = await self._refs_of(workspace, target)
        backups: list[str] = []
        known = [*await self._fetched(workspace), *inside]
        unmerged = await self._unmerged(known, workspace, target) if known else set()
        lost = [commit for commit in known if commit in unmerged]
        for commit in await heads_of(self._repository, lost):
            backups.append(await next_backup(self._repository, workspace, commit))
            await self._repository.set_refs(f"update {backups[-1]} {commit}")
        await self._repository.set_refs(
            *_deletions(refs), *await self._reset_commands(workspace, branch)
        )
        return " and ".join(dict.fromkeys(backups))

    async def _reset_commands(self, workspace: str, branch: str) -> list[str]:
        """Return commands that reset the branch to the base, unless it has a person's commits."""
        there = await self._repository.branch(branch)
        base = await self._repository.commit(self._own.base(workspace))
        tip = await self._repository.commit(self._own.tip(workspace))
        if there is None or base is None or tip is None or there == base:
            return []
        is_ours = await self._repository.is_ancestor(there, tip)
        return [f"update refs/heads/{branch} {base} {there}"] if is_ours else []

    async def _refs_of(self, workspace: str, target: str = "") -> dict[str, str]:
        """Return the workspace's refs, and all revert refs whose commits the target has."""
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


def _size_and_time(folder: Path) -> tuple[int, datetime]:
    """Return the folder's size, links not followed, and when it was last written."""
    size, waiting = 0, [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # no permission, or deleted in the meantime
    last = max(_written_at(folder / name) for name in ("", "meta.json", "tree", "tree/.git/index"))
    return size, datetime.fromtimestamp(last, UTC)


def _written_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
