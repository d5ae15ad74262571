"""Taking a workspace up again: as it was left, put right where it is damaged, with news merged in."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import branch_ref, folder_name
from allstop.adapters.git.workspace import clone_layout
from allstop.adapters.git.workspace.box_git import Boxes, BoxFailedError
from allstop.adapters.git.workspace.box_scripts import DAMAGED, MISSING, TAKE_UP, not_work
from allstop.adapters.git.workspace.clone import Making
from allstop.adapters.git.workspace.folders import Meta, Tree
from allstop.core.moves import WorkspaceOpen

NOTES = {
    "repaired": "its git folder was damaged and has been repaired",
    "kept": "what was left uncommitted could not be put aside",
}


class _Told(NamedTuple):
    words: tuple[str, ...]
    conflicts: tuple[str, ...]


class Resuming:
    def __init__(self, repository: Repository, boxes: Boxes, making: Making) -> None:
        self._repository = repository
        self._boxes = boxes
        self._making = making

    async def take_up(
        self,
        tree: Tree,
        meta: Meta,
        workspace: str,
        label: str,
        *,
        onto: str = "",
        stash: bool = False,
        given: str = "",
    ) -> WorkspaceOpen:
        """Killed half-way and done again, it comes to the same.

        What is given comes in also where a merge is under way: that is put aside.

        Raises:
            GitError, BoxFailedError, LaunchError, UnsafeError, OSError: it can't be taken up.
        """
        if onto != meta.base and onto and await self._repository.is_ancestor(onto, meta.base):
            onto = ""
        if onto:
            ref = self._repository.own.base(workspace)
            await self._repository.set_refs(f"update {ref} {onto}")
        notes: list[str] = []
        aside = 1 if stash else 2 if given else 0
        told = await self._look(tree, meta, workspace, label, onto or given, aside)
        if told is None:
            meta = await self._make_anew(tree, meta, workspace, label, notes)
            told = await self._tell(tree, meta, workspace, label, onto or given, aside)
        if onto:
            meta = replace(meta, base=onto)
            tree.finish(meta)
        notes += [NOTES[word] for word in told.words if word in NOTES]
        return WorkspaceOpen(
            base=meta.base,
            conflicts=told.conflicts,
            stashed="stashed" in told.words,
            notes=tuple(notes),
        )

    async def tip_beyond(self, workspace: str, target: str, meta: Meta) -> str:
        """The target's tip, where it has all of the work in its history already; else "".

        Git merges no commit twice: where the work was taken out again, none that goes on from it
        could land whole.
        """
        ref = branch_ref(target)
        if ref is None:
            return ""
        own = self._repository.own
        tip, work = await self._repository.named(f"{ref}^{{commit}}", own.tip(workspace))
        if tip is None or work is None or work == meta.base:
            return ""
        return tip if await self._repository.is_ancestor(work, tip) else ""

    async def _look(
        self, tree: Tree, meta: Meta, workspace: str, label: str, onto: str, stash: int
    ) -> _Told | None:
        """None where it is beyond repair."""
        if tree.refused.exists() or not tree.work.is_dir() or self._making.is_bent(tree):
            return None
        tree.home.mkdir(mode=0o700, exist_ok=True)
        try:
            return await self._tell(tree, meta, workspace, label, onto, stash)
        except BoxFailedError as error:
            if error.code == DAMAGED:
                return None
            raise

    async def _tell(
        self, tree: Tree, meta: Meta, workspace: str, label: str, onto: str, stash: int
    ) -> _Told:
        place = self._making.place(tree, meta)
        name = folder_name(workspace)
        words = (
            *(meta.base, onto, str(stash), f"Left over of {name}"),
            *(clone_layout.config_of(meta.base), self._making.alternates(meta), f"allstop/{name}"),
        )
        excluded = not_work(meta.excluded)
        try:
            said = await self._boxes.run(place, label, TAKE_UP, *words, "0", *excluded)
        except BoxFailedError as error:
            if error.code != MISSING:
                raise
            pack = await self._packed(tree, onto, meta.base)
            said = await self._boxes.run(place, label, TAKE_UP, *words, "1", *excluded, stdin=pack)
        before, _, after = said.partition("conflicts\0")
        return _Told(tuple(before.split("\0")), tuple(name for name in after.split("\0") if name))

    async def _packed(self, tree: Tree, commit: str, base: str) -> bytes:
        with tempfile.TemporaryDirectory(dir=tree.folder, prefix=".pack-") as place:
            pack = anyio.Path(place, "pack")
            await self._repository.pack(Path(pack), commit, base)
            return await pack.read_bytes()

    async def _make_anew(
        self, tree: Tree, meta: Meta, workspace: str, label: str, notes: list[str]
    ) -> Meta:
        """From the work that came home, or from the base where none did."""
        ref = self._repository.own.tip(workspace)
        commit = await self._repository.commit(ref) or meta.base
        extras = clone_layout.Extras(*await self._repository.named(*clone_layout.extras_of(commit)))
        before = tree.put_aside()
        await anyio.to_thread.run_sync(tree.make_anew)
        made = await self._making.make(
            tree, commit, workspace, label, target=meta.target, extras=extras, port=meta.port
        )
        aside = [path for path in tree.put_aside() if path not in before]
        left = f"; what was left of it is in {aside[-1]}" if aside else ""
        notes.append(f"it was damaged and has been made anew from {commit[:12]}{left}")
        notes += made.notes
        meta = replace(meta, borrows=made.borrows, stores=made.stores, excluded=made.excluded)
        meta = replace(meta, lfs=made.lfs)
        tree.finish(meta)
        return meta
