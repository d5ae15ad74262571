"""A shared clone for each piece of work. The host reads packs from it and touches nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from allstop.adapters.git.gather import both
from allstop.adapters.git.repository import branch_update, gate_subject, merge_commits, tree_survey
from allstop.adapters.git.repository.change_report import file_changes, with_restored
from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import branch_ref
from allstop.adapters.git.workspace import free_space
from allstop.adapters.git.workspace.box_git import TROUBLE, Boxes, BoxFailedError, SetUpFailedError
from allstop.adapters.git.workspace.clone import BARE, Fitting, Fittings, Making, clear, unknown
from allstop.adapters.git.workspace.clone_layout import Extras, extras_of
from allstop.adapters.git.workspace.fetch_work import Homecoming
from allstop.adapters.git.workspace.folders import Meta, Ports, Tree, Trees
from allstop.adapters.git.workspace.resume_workspace import Resuming
from allstop.adapters.git.workspace.workspace_lock import Alone
from allstop.core.errors import AllstopError
from allstop.core.moves import (
    Change,
    Delivered,
    Failed,
    FailureKind,
    Integrated,
    Landed,
    Surveyed,
    WorkspaceOpen,
)
from allstop.ports import Box, Candidate, FileChange, Launcher, Subject, Unready


class _Start(NamedTuple):
    base: str
    commit: str
    extras: Extras
    notes: tuple[str, ...] = ()


class GitWorkspaces:
    def __init__(
        self,
        repository: Repository,
        folder: Path,
        *,
        launcher: Launcher,
        box: Box,
        stores: tuple[str, ...],
        links: tuple[str, ...] = (),
        fittings: Fittings = BARE,
        fitting: Fitting = unknown,
        disk_mb: int | None = None,
        low_bytes: int = free_space.LOW_BYTES,
        look_every_s: float = 2.0,
    ) -> None:
        """`box` is what every workspace's box has; `stores` hold the repository's objects;
        `links` are folders of the checkout that are shown in it; `fittings` are what it is given
        where `fitting` does not know those of its target; `disk_mb` is the most it may hold; no
        work is done on a disk with less than `low_bytes` left.
        """
        self._repository = repository
        self._folder = folder
        self.alone = Alone()
        self._disk_mb = disk_mb
        self._low_bytes = low_bytes
        self.look_every_s = look_every_s
        self._boxes = Boxes(launcher)
        self._ports = Ports(folder)
        self._trees = Trees(folder)
        self._making = Making(
            repository,
            self._boxes,
            box=box,
            stores=stores,
            links=links,
            fittings=fittings,
            fitting=fitting,
        )
        self._resuming = Resuming(repository, self._boxes, self._making)
        self._homecoming = Homecoming(
            repository, self._boxes, self._making, folder=folder, disk_mb=disk_mb
        )

    # --- the port ---

    async def open(
        self,
        workspace: str,
        target: str,
        label: str,
        *,
        onto: str = "",
        stash: bool = False,
        given: str = "",
    ) -> WorkspaceOpen | Failed:
        try:
            async with self.alone(workspace):
                if not given:
                    return await self._open(workspace, target, label, onto=onto, stash=stash)
                first = await self._with_given(workspace, target, label, given, stash=stash)
                if first.conflicts:
                    return first
                opened = await self._open(workspace, target, label, onto=onto)
                return _after(first, opened)
        except TROUBLE as error:
            return _failed(error)

    async def _with_given(
        self, workspace: str, target: str, label: str, given: str, *, stash: bool
    ) -> WorkspaceOpen:
        """Before anything else: a person may have fitted the work to what is brought in next."""
        commit = await self._commit_to_bring(given)
        tree = self._tree(workspace)
        made = None
        if (meta := tree.meta()) is None:
            meta, made = await self._open_first(tree, workspace, target, label)
        taken = await self._resuming.take_up(
            tree, meta, workspace, label, given=commit, stash=stash
        )
        return _after(made, taken) if made else taken

    async def _open(
        self, workspace: str, target: str, label: str, *, onto: str, stash: bool = False
    ) -> WorkspaceOpen:
        brought = await self._commit_to_bring(onto)
        tree = self._tree(workspace)
        meta = tree.meta()
        if meta is not None:
            brought = brought or await self._resuming.tip_beyond(workspace, target, meta)
            return await self._resuming.take_up(
                tree, meta, workspace, label, onto=brought, stash=stash
            )
        meta, opened = await self._open_first(tree, workspace, target, label)
        if not brought or await self._repository.is_ancestor(brought, meta.base):
            return opened
        again = await self._resuming.take_up(tree, meta, workspace, label, onto=brought)
        return _after(opened, again)

    def place(self, workspace: str) -> Box:
        tree = self._tree(workspace)
        return self._making.place(tree, tree.meta())

    def shortage(self) -> str:
        return free_space.shortage(self._folder, self._low_bytes)

    async def outgrown(self, workspace: str) -> str:
        return await self._outgrown(self._tree(workspace), free_space.WORKSPACE)

    async def candidate_outgrown(self, workspace: str) -> str:
        return await self._outgrown(self._tree(workspace).check, free_space.CLEAN_CLONE)

    async def _outgrown(self, tree: Tree, what: str) -> str:
        if (short := self.shortage()) or self._disk_mb is None:
            return short
        return await anyio.to_thread.run_sync(free_space.outgrown, tree, self._disk_mb, what)

    async def keep(self, workspace: str, label: str) -> Change | Failed:
        try:
            return await self._bring_home(workspace, label)
        except TROUBLE as error:
            if why := self.shortage():
                return Failed(kind=FailureKind.OUT_OF_ROOM, message=why)
            if isinstance(error, OSError):
                return _failed(error)
            message = f"the workspace is damaged: {error}"
            return Failed(kind=FailureKind.BAD_REQUEST, message=message)

    async def subject(
        self, workspace: str, label: str, *, commit: str = "", follows: str = ""
    ) -> Subject | Failed:
        meta = self._tree(workspace).meta()
        try:
            return await self._to_check(workspace, label, meta, commit=commit, follows=follows)
        except TROUBLE as error:
            return _failed(error)

    async def candidate(
        self,
        workspace: str,
        label: str,
        *,
        commit: str = "",
        follows: str = "",
        restore: Sequence[str] = (),
    ) -> Candidate | Unready | Failed:
        clean = self._tree(workspace).check
        meta = self._tree(workspace).meta()
        try:
            found = await self._to_check(workspace, label, meta, commit=commit, follows=follows)
            if isinstance(found, Failed):
                return found
            shown = found.commit
            if restore:
                shown = await with_restored(
                    self._repository, found.base, shown, restore, self._folder
                )
            extras = await self._repository.named(*extras_of(shown))
            await clear(clean)
            lfs = meta.lfs if meta else None
            made = await self._making.make(
                clean,
                shown,
                workspace,
                label,
                target=meta.target if meta else "",
                extras=Extras(*extras),
                lfs=lfs,
            )
        except SetUpFailedError as error:
            return Unready(error.result, error.notes)
        except TROUBLE as error:
            return _failed(error)
        kept = Meta(base=found.base, target="", port=meta.port if meta else 0, stores=made.stores)
        box = self._making.place(clean, kept)
        return Candidate(box, *found, notes=made.notes)

    async def drop_candidate(self, workspace: str) -> None:
        await anyio.to_thread.run_sync(self._tree(workspace).check.remove)

    async def changes(self, work: Subject | Candidate) -> Sequence[FileChange]:
        return await file_changes(self._repository, work.base, work.commit)

    async def integrate(
        self, workspace: str, target: str, message: str, label: str
    ) -> Integrated | Failed:
        """What was brought home is merged: that very commit was checked."""
        try:
            for _ in range(2):
                made = await merge_commits.integrate(self._repository, workspace, target, message)
                if made is not None:
                    return made
                await self._tip(workspace, label)
            raise GitError(f"no work of {workspace!r} was brought home")
        except TROUBLE as error:
            return _failed(error)

    async def survey(self, workspace: str, target: str) -> Surveyed | Failed:
        repository = self._repository
        try:
            work = await repository.commit(repository.own.tip(workspace)) if workspace else None
            commit = work or await repository.branch(target)
            if commit is None:
                raise GitError(f"there is no branch {target!r} with a commit to look at")
            return await tree_survey.survey(repository, commit)
        except TROUBLE as error:
            return _failed(error)

    async def revert(self, commit: str, target: str, message: str) -> Integrated | Failed:
        try:
            return await merge_commits.revert(self._repository, commit, target, message)
        except GitError as error:
            return _failed(error)

    async def land(self, target: str, tip: str, commit: str) -> Landed | Failed:
        try:
            return await branch_update.land(self._repository, target, tip, commit)
        except GitError as error:
            return _failed(error)

    async def deliver(self, workspace: str, branch: str, label: str) -> Delivered | Failed:
        """Only ever forward, and only once: what the branch already has is what git says."""
        ref = branch_ref(branch)
        if ref is None:
            return _failed(GitError(f"no branch can be called {branch!r}"))
        repository = self._repository
        try:
            commit = await self._tip(workspace, label)
            there = await repository.commit(ref)
            if there == commit:
                return Delivered(branch=branch, commit=commit)
            if there is not None and not await repository.is_ancestor(there, commit):
                message = f"branch {branch} has other commits; rename it or delete it"
                return Failed(kind=FailureKind.CONFLICT, message=message)
            await repository.set_refs(f"update {ref} {commit} {there or '0' * len(commit)}")
        except TROUBLE as error:
            return _failed(error)
        await self.drop_candidate(workspace)
        return Delivered(branch=branch, commit=commit)

    def close(self) -> None:
        """Keep no program running; all of this can be used again."""
        self._repository.close()

    def discard(self, workspace: str) -> None:
        """Only for workspaces that nobody worked in: nothing is looked at before it is gone."""
        self._tree(workspace).remove()

    # --- opening ---

    async def _commit_to_bring(self, onto: str) -> str:
        if not onto:
            return ""
        commit = await self._repository.commit(onto)
        if commit is None:
            raise GitError(f"there is no commit {onto!r} to bring in")
        return commit

    async def _open_first(
        self, tree: Tree, workspace: str, target: str, label: str
    ) -> tuple[Meta, WorkspaceOpen]:
        start, own = await self._start_of(workspace, target), self._repository.own
        with self._ports.promised() as port:
            await clear(tree)
            made, _ = await both(
                self._making.make(
                    tree,
                    start.commit,
                    workspace,
                    label,
                    target=target,
                    extras=start.extras,
                    port=port,
                ),
                self._repository.set_refs(f"update {own.base(workspace)} {start.base}"),
            )
            meta = Meta(
                base=start.base,
                target=target,
                name=workspace,
                port=port,
                borrows=made.borrows,
                stores=made.stores,
                excluded=made.excluded,
                lfs=made.lfs,
            )
            tree.finish(meta)
        return meta, WorkspaceOpen(base=start.base, notes=(*start.notes, *made.notes))

    async def _start_of(self, workspace: str, target: str) -> _Start:
        """The target's tip; or work that came home from a workspace that is gone."""
        repository, ref = self._repository, branch_ref(target)
        own = repository.own
        nowhere = GitError(f"there is no branch {target!r} with a commit to start from")
        if ref is None:
            raise nowhere
        tip, work, base, *extras = await repository.named(
            f"{ref}^{{commit}}", own.tip(workspace), own.base(workspace), *extras_of(ref)
        )
        if tip is None:
            raise nowhere
        if work is None or base is None or await repository.is_ancestor(work, tip):
            return _Start(tip, tip, Extras(*extras))
        extras = list(await repository.named(*extras_of(work)))
        note = f"it goes on from {work[:12]}, which was brought home before"
        return _Start(base, work, Extras(*extras), (note,))

    # --- bringing home ---

    async def _bring_home(self, workspace: str, label: str) -> Change | Failed:
        return await self._homecoming.bring(self._tree(workspace), workspace, label)

    async def _tip(self, workspace: str, label: str) -> str:
        """The work as it came home; it is fetched only where it never did."""
        commit = await self._repository.commit(self._repository.own.tip(workspace))
        if commit is not None:
            return commit
        if self._tree(workspace).meta() is None:
            raise GitError(f"there is no workspace {workspace!r}, and nothing came home from it")
        change = await self._bring_home(workspace, label)
        if isinstance(change, Failed):
            raise BoxFailedError(change.message)
        return change.head

    # --- checking ---

    async def _to_check(
        self, workspace: str, label: str, meta: Meta | None, *, commit: str, follows: str
    ) -> Subject | Failed:
        if commit:
            return await gate_subject.of_merge(self._repository, commit)
        work = await self._tip(workspace, label)
        target = follows or (meta.target if meta else "")
        found = await gate_subject.of_work(self._repository, workspace, work, target)
        return (await gate_subject.moved(self._repository, found, follows)) or found

    def _tree(self, workspace: str) -> Tree:
        return self._trees.of(workspace)


def _after(first: WorkspaceOpen, then: WorkspaceOpen) -> WorkspaceOpen:
    """What is told of two steps; the later one says how it stands."""
    stashed = first.stashed or then.stashed
    return replace(then, stashed=stashed, notes=(*first.notes, *then.notes))


def _failed(error: Exception) -> Failed:
    hint = error.hint if isinstance(error, AllstopError) else ""
    message = f"{error} ({hint})" if hint else str(error)
    notes = error.notes if isinstance(error, SetUpFailedError) else ()
    return Failed(kind=FailureKind.BAD_REQUEST, message=message, notes=notes)
