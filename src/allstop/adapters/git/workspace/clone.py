"""Making a clone: the host lays everything ready, one program in the box puts it in place."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import anyio
from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import folder_name
from allstop.adapters.git.workspace import clone_layout
from allstop.adapters.git.workspace.box_git import SETUP, Boxes, BoxFailedError, SetUpFailedError
from allstop.adapters.git.workspace.box_scripts import MAKE
from allstop.adapters.git.workspace.folders import Meta, Tree, remove_tree
from allstop.core.moves import CheckResult
from allstop.ports import Box

BOXED_STORES = "/run/allstop/objects"


async def clear(tree: Tree) -> None:
    """Empty folders; in a thread only where there is something to remove, which may take long."""
    if tree.folder.exists():
        await anyio.to_thread.run_sync(tree.make)
    else:
        tree.make()


class Fittings(Struct, frozen=True, kw_only=True):
    """What a clone is given when it is made, besides its commit."""

    copy: tuple[str, ...] = ()  # patterns of untracked files of the checkout
    setup: str = ""  # run in it once
    setup_timeout_s: float = 600.0


BARE = Fittings()

Fitting: TypeAlias = Callable[[str], Awaitable[Fittings | None]]
"""Those of a branch, by its name, as it is now; None where nobody can tell."""


async def unknown(target: str) -> Fittings | None:
    return None


class Made(Struct, frozen=True, kw_only=True):
    borrows: bool
    stores: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    lfs: bool = False
    notes: tuple[str, ...] = ()


class _Said(NamedTuple):
    lines: list[str]
    too_much: list[str]  # files that were not copied


def _told(made: Made, said: _Said) -> Made:
    lfs = made.lfs or "lfs" in said.lines
    paths = [line.removeprefix("submodule ") for line in said.lines if line != "lfs"]
    notes = [
        *(["files kept by Git LFS are pointers here"] if lfs else []),
        *(f"submodule {path} can't be checked out here" for path in paths),
        *(f"{path} was not copied: it is too large" for path in said.too_much),
    ]
    return replace(made, lfs=lfs, notes=(*made.notes, *notes))


class Making:
    def __init__(
        self,
        repository: Repository,
        boxes: Boxes,
        *,
        box: Box,
        stores: tuple[str, ...],
        links: tuple[str, ...],
        fittings: Fittings,
        fitting: Fitting,
    ) -> None:
        self._repository = repository
        self._boxes = boxes
        self._box = box
        self._stores = stores
        self._links = {link: str(repository.root / link) for link in links}
        self._fittings = fittings  # the last that are known
        self._fitting = fitting
        self._may_borrow = True

    async def make(
        self,
        tree: Tree,
        commit: str,
        workspace: str,
        label: str,
        *,
        target: str,  # "" where it is not known
        extras: clone_layout.Extras,
        port: int = 0,
        lfs: bool | None = None,
    ) -> Made:
        """Put a commit into an empty tree, with all that a checkout needs, and set it up as the
        target branch says by now.

        `lfs` is whether Git LFS keeps files of it; None where that is to be found out.

        Raises:
            GitError, BoxFailedError, LaunchError, UnsafeError, OSError: it can't be made.
        """
        if target:
            self._fittings = await self._fitting(target) or self._fittings
        fittings = self._fittings
        plan = await clone_layout.plan(self._repository, commit, extras, fittings.copy)
        made = Made(
            borrows=self._may_borrow,
            stores=tuple(submodule.store for submodule in plan.submodules),
            excluded=(*self._links, *plan.copies),
            lfs=plan.lfs or lfs or False,
            notes=plan.notes,
        )
        look = lfs is None and not made.lfs
        try:
            said = await self._fill(tree, commit, workspace, label, plan, made, look=look)
        except BoxFailedError:
            if not made.borrows:
                raise
            self._may_borrow = False  # objects that the box's user can't read, or not all of them
            made = replace(made, borrows=False)
            await anyio.to_thread.run_sync(tree.empty)
            said = await self._fill(tree, commit, workspace, label, plan, made, look=look)
        if tree.making.exists():  # mostly nothing had to be laid
            await anyio.to_thread.run_sync(remove_tree, tree.making)
        made = _told(made, said)
        try:
            await self._set_up(tree, made, fittings, label, port)
        except SetUpFailedError as error:
            raise SetUpFailedError(str(error), error.result, made.notes) from error
        return made

    def place(self, tree: Tree, meta: Meta | None) -> Box:
        links = tuple(self._links[link] for link in self._shown())
        stores = meta.stores if meta else ()
        port = meta.port if meta else 0
        return replace(
            self._box,
            home=str(tree.home),
            workspace=str(tree.work),
            at=str(self._repository.root),
            objects=(*self._stores, *stores),
            read=(*self._box.read, *links),
            env={"ALLSTOP_PORT": str(port)} if port else {},
        )

    def is_bent(self, tree: Tree) -> bool:
        """Whether something that is to be shown in it would be shown elsewhere."""
        return any(
            (tree.work / part).is_symlink()
            for link in self._links
            for part in (Path(link), *Path(link).parents)
        )

    def alternates(self, meta: Meta) -> str:
        return clone_layout.alternates_of(self._seen(self._stores)) if meta.borrows else ""

    async def _fill(
        self,
        tree: Tree,
        commit: str,
        workspace: str,
        label: str,
        plan: clone_layout.Plan,
        made: Made,
        *,
        look: bool,
    ) -> _Said:
        await self._lay_git(tree, commit, workspace, plan, made)
        too_much = await self._lay(tree.making / "lay", commit, plan, made)
        place = replace(
            self.place(tree, Meta(base="", target="", stores=made.stores)),
            fresh=True,
            home=str(tree.making if tree.making.exists() else tree.home),
            read=(),  # shown now, their parents would be made by somebody else than the box's user
        )
        words = [word for submodule in plan.submodules for word in submodule[:2]]
        said = await self._boxes.run(place, label, MAKE, commit, str(int(look)), *words)
        return _Said(said.splitlines(), too_much)

    async def _lay_git(
        self, tree: Tree, commit: str, workspace: str, plan: clone_layout.Plan, made: Made
    ) -> None:
        stores = self._seen((*self._stores, *made.stores))
        own, others = stores[: len(self._stores)], stores[len(self._stores) :]
        files = clone_layout.files_of_clone(
            commit,
            f"allstop/{folder_name(workspace)}",
            stores=own if made.borrows else (),
            excluded=made.excluded,
            shallow=clone_layout.shallow_of(await self._repository.common_dir()),
        )
        clone_layout.lay_git(tree.work / ".git", files)
        for number, (submodule, store) in enumerate(zip(plan.submodules, others, strict=True)):
            folder = tree.making / "lay" / "modules" / str(number)
            folder.parent.mkdir(parents=True, exist_ok=True)
            clone_layout.lay_git(folder, clone_layout.files_of_submodule(submodule.commit, store))

    async def _lay(self, lay: Path, commit: str, plan: clone_layout.Plan, made: Made) -> list[str]:
        """Only what there is: mostly nothing. Files that are too much to copy."""
        if not made.borrows:
            await self._repository.pack(lay / "pack", commit)
        _, too_much = clone_layout.lay_copies(self._repository.root, plan.copies, lay / "copy")
        for link in self._shown():
            (lay / "copy" / link).parent.mkdir(parents=True, exist_ok=True)
        return too_much

    async def _set_up(
        self, tree: Tree, made: Made, fittings: Fittings, label: str, port: int
    ) -> None:
        setup, most_s = fittings.setup, fittings.setup_timeout_s
        if not setup:
            return
        place = self.place(tree, Meta(base="", target="", port=port, stores=made.stores))
        with anyio.move_on_after(most_s) as scope:
            await self._boxes.set_up(place, label, setup)
        if scope.cancelled_caught:
            took = f"setup took longer than {most_s:g} s"
            result = CheckResult(name=SETUP, run=setup, passed=False, timed_out=True, output=took)
            raise SetUpFailedError(f"{took}: {setup}", result)

    def _shown(self) -> list[str]:
        return [link for link, path in self._links.items() if os.path.isdir(path)]  # noqa: PTH112

    def _seen(self, stores: tuple[str, ...]) -> list[str]:
        """Where a program finds the stores."""
        if not self._boxes.are_real:
            return list(stores)
        return [f"{BOXED_STORES}/{number}" for number in range(len(stores))]
