"""Reopens an existing workspace: repairs it if it is damaged, and merges newer commits into it."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import branch_ref, folder_name
from allstop.adapters.git.workspace import clone_layout
from allstop.adapters.git.workspace.box_git import BoxFailedError, BoxGit
from allstop.adapters.git.workspace.box_scripts import DAMAGED, MISSING, RESUME, exclude_paths
from allstop.adapters.git.workspace.clone import CloneBuilder
from allstop.adapters.git.workspace.folders import Meta, WorkspaceFolders
from allstop.core.moves import WorkspaceOpen

NOTES = {
    "repaired": "its git folder was damaged and has been repaired",
    "kept": "uncommitted changes could not be stashed",
}


class _ResumeOutput(NamedTuple):
    words: tuple[str, ...]
    conflicts: tuple[str, ...]


class WorkspaceResumer:
    def __init__(self, repository: Repository, box_git: BoxGit, builder: CloneBuilder) -> None:
        self._repository = repository
        self._box_git = box_git
        self._builder = builder

    async def resume(
        self,
        folders: WorkspaceFolders,
        meta: Meta,
        workspace: str,
        label: str,
        *,
        onto: str = "",
        stash: bool = False,
        given: str = "",
    ) -> WorkspaceOpen:
        """Reopen the workspace. Safe to repeat after a crash.

        `given` is merged even while another merge is in progress; that one is stashed first.

        Raises:
            GitError, BoxFailedError, LaunchError, UnsafeError, OSError: it can't be reopened.
        """
        if onto != meta.base and onto and await self._repository.is_ancestor(onto, meta.base):
            onto = ""
        if onto:
            ref = self._repository.own.base(workspace)
            await self._repository.set_refs(f"update {ref} {onto}")
        notes: list[str] = []
        aside = 1 if stash else 2 if given else 0
        output = await self._try_resume(folders, meta, workspace, label, onto or given, aside)
        if output is None:
            meta = await self._recreate(folders, meta, workspace, label, notes)
            output = await self._run_script(folders, meta, workspace, label, onto or given, aside)
        if onto:
            meta = replace(meta, base=onto)
            folders.write_meta(meta)
        notes += [NOTES[word] for word in output.words if word in NOTES]
        return WorkspaceOpen(
            base=meta.base,
            conflicts=output.conflicts,
            stashed="stashed" in output.words,
            notes=tuple(notes),
        )

    async def tip_beyond(self, workspace: str, target: str, meta: Meta) -> str:
        """Return the target's tip if its history contains all of the work; else "".

        Git doesn't merge a commit twice. If the target reverted the work, later work based on it
        could not land completely.
        """
        ref = branch_ref(target)
        if ref is None:
            return ""
        own = self._repository.own
        tip, work = await self._repository.resolve(f"{ref}^{{commit}}", own.tip(workspace))
        if tip is None or work is None or work == meta.base:
            return ""
        return tip if await self._repository.is_ancestor(work, tip) else ""

    async def _try_resume(
        self,
        folders: WorkspaceFolders,
        meta: Meta,
        workspace: str,
        label: str,
        onto: str,
        stash: int,
    ) -> _ResumeOutput | None:
        """Reopen it in the box; None if it can't be repaired."""
        if (
            folders.refused_marker.exists()
            or not folders.work.is_dir()
            or self._builder.is_redirected(folders)
        ):
            return None
        folders.home.mkdir(mode=0o700, exist_ok=True)
        try:
            return await self._run_script(folders, meta, workspace, label, onto, stash)
        except BoxFailedError as error:
            if error.code == DAMAGED:
                return None
            raise

    async def _run_script(
        self,
        folders: WorkspaceFolders,
        meta: Meta,
        workspace: str,
        label: str,
        onto: str,
        stash: int,
    ) -> _ResumeOutput:
        box = self._builder.box_of(folders, meta)
        name = folder_name(workspace)
        words = (
            *(meta.base, onto, str(stash), f"Left over of {name}"),
            *(clone_layout.config_of(meta.base), self._builder.alternates(meta), f"allstop/{name}"),
        )
        excluded = exclude_paths(meta.excluded)
        try:
            text = await self._box_git.run(box, label, RESUME, *words, "0", *excluded)
        except BoxFailedError as error:
            if error.code != MISSING:
                raise
            pack = await self._pack(folders, onto, meta.base)
            text = await self._box_git.run(box, label, RESUME, *words, "1", *excluded, stdin=pack)
        before, _, after = text.partition("conflicts\0")
        return _ResumeOutput(
            tuple(before.split("\0")), tuple(name for name in after.split("\0") if name)
        )

    async def _pack(self, folders: WorkspaceFolders, commit: str, base: str) -> bytes:
        with tempfile.TemporaryDirectory(dir=folders.folder, prefix=".pack-") as box:
            pack = anyio.Path(box, "pack")
            await self._repository.pack(Path(pack), commit, base)
            return await pack.read_bytes()

    async def _recreate(
        self, folders: WorkspaceFolders, meta: Meta, workspace: str, label: str, notes: list[str]
    ) -> Meta:
        """Make the clone again, from the fetched work or else from the base."""
        ref = self._repository.own.tip(workspace)
        commit = await self._repository.commit(ref) or meta.base
        extras = clone_layout.Extras(
            *await self._repository.resolve(*clone_layout.extras_of(commit))
        )
        before = folders.damaged_copies()
        await anyio.to_thread.run_sync(folders.recreate)
        made = await self._builder.make(
            folders, commit, workspace, label, target=meta.target, extras=extras, port=meta.port
        )
        aside = [path for path in folders.damaged_copies() if path not in before]
        left = f"; its earlier content is in {aside[-1]}" if aside else ""
        notes.append(f"it was damaged and has been recreated from {commit[:12]}{left}")
        notes += made.notes
        meta = replace(meta, borrows=made.borrows, stores=made.stores, excluded=made.excluded)
        meta = replace(meta, lfs=made.lfs)
        folders.write_meta(meta)
        return meta
