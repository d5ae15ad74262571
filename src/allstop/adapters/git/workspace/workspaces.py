"""Git workspaces: a shared clone per piece of work. The host only reads packs from it."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import anyio
from msgspec.structs import replace

from allstop.adapters.git.repository import branch_update, gate_subject, merge_commits, tree_survey
from allstop.adapters.git.repository.change_report import (
    ChangeReader,
    paths_of,
    texts_of,
    variant_commit,
    with_restored,
)
from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import branch_ref
from allstop.adapters.git.workspace import clone, free_space
from allstop.adapters.git.workspace.box_git import (
    EXPECTED_ERRORS,
    BoxFailedError,
    BoxGit,
    SetUpFailedError,
)
from allstop.adapters.git.workspace.clone_layout import Extras, extras_of
from allstop.adapters.git.workspace.fetch_work import WorkFetcher
from allstop.adapters.git.workspace.folders import FolderCache, Meta, PortRanges, WorkspaceFolders
from allstop.adapters.git.workspace.resume_workspace import WorkspaceResumer
from allstop.core import moves
from allstop.core.errors import AllstopError
from allstop.gate.facts import ChangedFile, Variant
from allstop.gather import both
from allstop.ports import (
    Box,
    Candidate,
    FileChange,
    Launcher,
    OpenHosts,
    Subject,
    Unready,
    no_hosts,
)


class WorkspaceLocks:
    """`async with lock(name)` waits until no other block for that workspace is active."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    def __call__(self, workspace: str) -> anyio.Lock:
        return self._locks.setdefault(workspace, anyio.Lock())


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
        clone_setup: clone.CloneSetup = clone.NO_SETUP,
        find_clone_setup: clone.FindCloneSetup = clone.no_clone_setup,
        disk_mb: int | None = None,
        low_bytes: int = free_space.LOW_BYTES,
        check_every_s: float = 2.0,
        whole_history: bool = True,
        open_hosts: OpenHosts = no_hosts,
    ) -> None:
        """`box` is the template of every workspace's box; `stores` hold the repository's objects;
        `links` are folders of the checkout that the box shows; `clone_setup` applies if
        `find_clone_setup` doesn't know that of the target branch; `disk_mb` is the most that a
        workspace may hold; without `whole_history` boxes show no other git objects than those of
        their clone; `open_hosts` is for the setup command. No work is done on a disk with less than `low_bytes` left.
        """
        self._repository = repository
        self._change_reader = ChangeReader(repository)
        self._folder = folder
        self.lock = WorkspaceLocks()
        self._disk_mb = disk_mb
        self._low_bytes = low_bytes
        self.check_every_s = check_every_s
        self._box_git = BoxGit(launcher, open_hosts)
        self._ports = PortRanges(folder)
        self._trees = FolderCache(folder)
        self._variants = count(1)
        self._builder = clone.CloneBuilder(
            repository,
            self._box_git,
            box=box,
            stores=stores,
            links=links,
            clone_setup=clone_setup,
            find_clone_setup=find_clone_setup,
            whole_history=whole_history,
        )
        self._resumer = WorkspaceResumer(repository, self._box_git, self._builder)
        self._fetcher = WorkFetcher(
            repository, self._box_git, self._builder, folder=folder, disk_mb=disk_mb
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
    ) -> moves.WorkspaceOpen | moves.Failed:
        try:
            async with self.lock(workspace):
                if not given:
                    return await self._open(workspace, target, label, onto=onto, stash=stash)
                first = await self._open_with_given(workspace, target, label, given, stash=stash)
                if first.conflicts:
                    return first
                opened = await self._open(workspace, target, label, onto=onto)
                return _after(first, opened)
        except EXPECTED_ERRORS as error:
            return _failed(error)

    async def _open_with_given(
        self, workspace: str, target: str, label: str, given: str, *, stash: bool
    ) -> moves.WorkspaceOpen:
        """Merge a person's commit first: it may have been prepared for the commits merged next."""
        commit = await self._existing_commit(given)
        folders = self._folders(workspace)
        made = None
        if (meta := folders.meta()) is None:
            meta, made = await self._open_first(folders, workspace, target, label)
        taken = await self._resumer.resume(
            folders, meta, workspace, label, given=commit, stash=stash
        )
        return _after(made, taken) if made else taken

    async def _open(
        self, workspace: str, target: str, label: str, *, onto: str, stash: bool = False
    ) -> moves.WorkspaceOpen:
        brought = await self._existing_commit(onto)
        folders = self._folders(workspace)
        meta = folders.meta()
        if meta is not None:
            brought = brought or await self._resumer.tip_beyond(workspace, target, meta)
            return await self._resumer.resume(
                folders, meta, workspace, label, onto=brought, stash=stash
            )
        meta, opened = await self._open_first(folders, workspace, target, label)
        if not brought or await self._repository.is_ancestor(brought, meta.base):
            return opened
        again = await self._resumer.resume(folders, meta, workspace, label, onto=brought)
        return _after(opened, again)

    def box_of(self, workspace: str) -> Box:
        folders = self._folders(workspace)
        return self._builder.box_of(folders, folders.meta())

    def check_box_of(self, workspace: str) -> Box:
        """The box of checks that run in the workspace itself."""
        folders = self._folders(workspace)
        return self._builder.box_of(folders, folders.meta(), self._builder.check_box)

    def shortage(self) -> str:
        return free_space.shortage(self._folder, self._low_bytes)

    async def over_limit(self, workspace: str) -> str:
        return await self._over_limit(self._folders(workspace), free_space.WORKSPACE)

    async def candidate_over_limit(self, workspace: str) -> str:
        clean = self._folders(workspace).check
        for folders in (clean, *clean.variants()):
            if why := await self._over_limit(folders, free_space.CLEAN_CLONE):
                return why
        return ""

    async def _over_limit(self, folders: WorkspaceFolders, what: str) -> str:
        if (short := self.shortage()) or self._disk_mb is None:
            return short
        return await anyio.to_thread.run_sync(free_space.over_limit, folders, self._disk_mb, what)

    async def keep(
        self, workspace: str, label: str, *, message: str = "", uncommitted: bool = False
    ) -> moves.Change | moves.Failed:
        try:
            return await self._fetch_work(
                workspace, label, message=message, uncommitted=uncommitted
            )
        except EXPECTED_ERRORS as error:
            if why := self.shortage():
                return moves.Failed(kind=moves.FailureKind.OUT_OF_ROOM, message=why)
            if isinstance(error, OSError):
                return _failed(error)
            message = f"the workspace is damaged: {error}"
            return moves.Failed(kind=moves.FailureKind.BAD_REQUEST, message=message)

    async def subject(
        self, workspace: str, label: str, *, commit: str = "", base: str = "", follows: str = ""
    ) -> Subject | moves.Failed:
        meta = self._folders(workspace).meta()
        try:
            return await self._subject_of(
                workspace, label, meta, commit=commit, base=base, follows=follows
            )
        except EXPECTED_ERRORS as error:
            return _failed(error)

    async def candidate(
        self,
        workspace: str,
        label: str,
        *,
        commit: str = "",
        base: str = "",
        follows: str = "",
        restore: Sequence[str] = (),
        alone: bool = False,
    ) -> Candidate | Unready | moves.Failed:
        meta = self._folders(workspace).meta()
        try:
            found = await self._subject_of(
                workspace, label, meta, commit=commit, base=base, follows=follows
            )
            if isinstance(found, moves.Failed):
                return found
            shown = found.commit
            if restore:
                shown = await with_restored(
                    self._repository, found.base, shown, restore, self._folder
                )
        except EXPECTED_ERRORS as error:
            return _failed(error)
        place = self._folders(workspace).check
        return await self._clean_clone(workspace, label, place, found, shown, alone=alone)

    async def variant(
        self,
        workspace: str,
        label: str,
        work: Candidate,
        variant: Variant,
        *,
        on_target: bool = False,
    ) -> Candidate | Unready | moves.Failed:
        start, other = (work.base, work.commit) if on_target else (work.commit, work.base)
        try:
            shown = await variant_commit(self._repository, start, other, variant, self._folder)
        except EXPECTED_ERRORS as error:
            return _failed(error)
        found = Subject(work.base, work.commit, work.tree)
        place = self._folders(workspace).check.variant(next(self._variants))
        return await self._clean_clone(workspace, label, place, found, shown, alone=True)

    async def drop_variant(self, variant: Candidate) -> None:
        folder = Path(variant.box.home).parent
        await anyio.to_thread.run_sync(WorkspaceFolders(folder).remove)

    async def _clean_clone(
        self,
        workspace: str,
        label: str,
        clean: WorkspaceFolders,
        found: Subject,
        shown: str,
        *,
        alone: bool,
    ) -> Candidate | Unready | moves.Failed:
        meta = self._folders(workspace).meta()
        try:
            extras = await self._repository.resolve(*extras_of(shown))
            await clone.make_folders(clean)
            made = await self._builder.make(
                clean,
                shown,
                workspace,
                label,
                target=meta.target if meta else "",
                extras=Extras(*extras),
                lfs=meta.lfs if meta else None,
                alone=alone,
            )
        except SetUpFailedError as error:
            return Unready(error.result, error.notes)
        except EXPECTED_ERRORS as error:
            return _failed(error)
        port = meta.port if meta else 0
        kept = Meta(base=found.base, target="", port=port, borrows=made.borrows, stores=made.stores)
        return Candidate(
            self._builder.box_of(clean, kept, made.check_box),
            *found,
            notes=made.notes,
            agent_box=self._builder.box_of(clean, kept),
        )

    async def paths(self, commit: str) -> Sequence[str]:
        return await paths_of(self._repository, commit)

    async def drop_candidate(self, workspace: str) -> None:
        await anyio.to_thread.run_sync(self._folders(workspace).check.remove)

    async def changes(self, work: Subject | Candidate) -> Sequence[FileChange]:
        return await self._change_reader.file_changes(work.base, work.commit)

    async def contents(self, work: Subject | Candidate) -> Sequence[ChangedFile]:
        return await self._change_reader.changed_files(work.base, work.commit)

    async def texts(self, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
        return await texts_of(self._repository, commit, paths)

    async def integrate(
        self, workspace: str, target: str, message: str, label: str, *, onto: str = ""
    ) -> moves.Integrated | moves.Failed:
        """Merge the last fetched work, because that commit was checked."""
        try:
            for _ in range(2):
                made = await merge_commits.integrate(
                    self._repository, workspace, target, message, onto=onto
                )
                if made is not None:
                    return made
                await self._tip(workspace, label)
            raise GitError(f"no work of {workspace!r} was fetched", code="no_work")
        except EXPECTED_ERRORS as error:
            return _failed(error)

    async def survey(self, workspace: str, target: str) -> moves.Surveyed | moves.Failed:
        repository = self._repository
        try:
            work = await repository.commit(repository.own.tip(workspace)) if workspace else None
            commit = work or await repository.branch(target)
            if commit is None:
                raise GitError(f"branch {target!r} doesn't exist", code="branch_missing")
            return await tree_survey.survey(repository, commit)
        except EXPECTED_ERRORS as error:
            return _failed(error)

    async def discard(self, workspace: str) -> moves.Discarded | moves.Failed:
        own = self._repository.own
        try:
            async with self.lock(workspace):
                kinds = (own.base, own.tip, own.merge, own.given)
                refs = await self._repository.refs(*(ref(workspace) for ref in kinds))
                if refs:
                    await self._repository.set_refs(*(f"delete {r} {refs[r]}" for r in refs))
                await anyio.to_thread.run_sync(self._folders(workspace).remove)
                return moves.Discarded()
        except EXPECTED_ERRORS as error:
            return _failed(error)

    async def make_checkpoint(self, name: str, target: str) -> moves.CheckpointMade | moves.Failed:
        repository = self._repository
        try:
            tip = await repository.branch(target)
            if tip is None:
                error = GitError(f"branch {target!r} doesn't exist", code="branch_missing")
                return _failed(error)
            await repository.set_refs(f"update {repository.own.checkpoint(name)} {tip}")
        except GitError as error:
            return _failed(error)
        return moves.CheckpointMade(checkpoint=name, commit=tip)

    async def revert(
        self, commit: str, target: str, message: str
    ) -> moves.Integrated | moves.Failed:
        try:
            return await merge_commits.revert(self._repository, commit, target, message)
        except GitError as error:
            return _failed(error)

    async def land(self, target: str, tip: str, commit: str) -> moves.Landed | moves.Failed:
        try:
            return await branch_update.land(self._repository, target, tip, commit)
        except GitError as error:
            return _failed(error)

    async def deliver(
        self, workspace: str, branch: str, label: str
    ) -> moves.Delivered | moves.Failed:
        """Move the branch forward only. Safe to repeat."""
        ref = branch_ref(branch)
        if ref is None:
            error = GitError(f"{branch!r} isn't a valid branch name", code="bad_branch_name")
            return _failed(error)
        repository = self._repository
        try:
            commit = await self._tip(workspace, label)
            there = await repository.commit(ref)
            if there == commit:
                return moves.Delivered(branch=branch, commit=commit)
            if there is not None and not await repository.is_ancestor(there, commit):
                message = (
                    f"branch {branch} has commits that Allstop didn't make; rename or delete it"
                )
                return moves.Failed(kind=moves.FailureKind.CONFLICT, message=message)
            await repository.set_refs(f"update {ref} {commit} {there or '0' * len(commit)}")
        except EXPECTED_ERRORS as error:
            return _failed(error)
        await self.drop_candidate(workspace)
        return moves.Delivered(branch=branch, commit=commit)

    def close(self) -> None:
        """End the long-lived git processes; later calls start them again."""
        self._repository.close()

    def remove_folders(self, workspace: str) -> None:
        """Remove the files of a workspace without any check; its refs stay."""
        self._folders(workspace).remove()

    # --- opening ---

    async def _existing_commit(self, onto: str) -> str:
        if not onto:
            return ""
        commit = await self._repository.commit(onto)
        if commit is None:
            raise GitError(f"commit {onto!r} doesn't exist", code="commit_missing")
        return commit

    async def _open_first(
        self, folders: WorkspaceFolders, workspace: str, target: str, label: str
    ) -> tuple[Meta, moves.WorkspaceOpen]:
        start, own = await self._find_start(workspace, target), self._repository.own
        with self._ports.reserve() as port:
            await clone.make_folders(folders)
            made, _ = await both(
                self._builder.make(
                    folders,
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
            folders.write_meta(meta)
        return meta, moves.WorkspaceOpen(base=start.base, notes=(*start.notes, *made.notes))

    async def _find_start(self, workspace: str, target: str) -> _Start:
        """Return the target's tip, or work that was fetched from a workspace that is gone."""
        repository, ref = self._repository, branch_ref(target)
        own = repository.own
        nowhere = GitError(f"branch {target!r} doesn't exist", code="branch_missing")
        if ref is None:
            raise nowhere
        tip, work, base, *extras = await repository.resolve(
            f"{ref}^{{commit}}", own.tip(workspace), own.base(workspace), *extras_of(ref)
        )
        if tip is None:
            raise nowhere
        if work is None or base is None or await repository.is_ancestor(work, tip):
            return _Start(tip, tip, Extras(*extras))
        extras = list(await repository.resolve(*extras_of(work)))
        note = f"it continues from {work[:12]}, which was fetched before"
        return _Start(base, work, Extras(*extras), (note,))

    # --- fetching work ---

    async def _fetch_work(
        self, workspace: str, label: str, *, message: str = "", uncommitted: bool = False
    ) -> moves.Change | moves.Failed:
        return await self._fetcher.fetch(
            self._folders(workspace), workspace, label, message=message, uncommitted=uncommitted
        )

    async def _tip(self, workspace: str, label: str) -> str:
        """Return the fetched work; fetch it only if that never happened."""
        commit = await self._repository.commit(self._repository.own.tip(workspace))
        if commit is not None:
            return commit
        if self._folders(workspace).meta() is None:
            raise GitError(f"workspace {workspace!r} doesn't exist", code="workspace_missing")
        change = await self._fetch_work(workspace, label)
        if isinstance(change, moves.Failed):
            raise BoxFailedError(change.message)
        return change.head

    # --- checking ---

    async def _subject_of(
        self,
        workspace: str,
        label: str,
        meta: Meta | None,
        *,
        commit: str,
        base: str = "",
        follows: str,
    ) -> Subject | moves.Failed:
        if commit:
            return await gate_subject.of_merge(self._repository, commit, base)
        work = await self._tip(workspace, label)
        target = follows or (meta.target if meta else "")
        found = await gate_subject.of_work(self._repository, workspace, work, target)
        return (await gate_subject.moved(self._repository, found, follows)) or found

    def _folders(self, workspace: str) -> WorkspaceFolders:
        return self._trees.of(workspace)


def _after(first: moves.WorkspaceOpen, then: moves.WorkspaceOpen) -> moves.WorkspaceOpen:
    """Combine the results of two steps; the later one gives the state."""
    stashed = first.stashed or then.stashed
    return replace(then, stashed=stashed, notes=(*first.notes, *then.notes))


def _failed(error: Exception) -> moves.Failed:
    hint = error.hint if isinstance(error, AllstopError) else ""
    message = f"{error} ({hint})" if hint else str(error)
    notes = error.notes if isinstance(error, SetUpFailedError) else ()
    return moves.Failed(kind=moves.FailureKind.BAD_REQUEST, message=message, notes=notes)
