"""Makes a clone: the host prepares its files, and a script in the box checks out the commit."""

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

import anyio
from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import folder_name
from allstop.adapters.git.workspace import clone_layout
from allstop.adapters.git.workspace.box_git import SETUP, BoxFailedError, BoxGit, SetUpFailedError
from allstop.adapters.git.workspace.box_scripts import MAKE
from allstop.adapters.git.workspace.folders import Meta, WorkspaceFolders, remove_tree
from allstop.core.moves import CheckResult
from allstop.ports import Box

BOXED_STORES = "/run/allstop/objects"
_LINKED = {".venv": {"UV_NO_SYNC": "1"}}
"""Variables by linked folder: `uv run` would change .venv, which is read-only."""


def _prepare_vite(folder: Path) -> None:
    """Make the folder into which Vite writes; boxes show their own empty one in its place."""
    if (folder / "vite").is_dir():
        with suppress(OSError):
            (folder / ".vite-temp").mkdir(exist_ok=True)


async def make_folders(folders: WorkspaceFolders) -> None:
    """Create empty folders.

    In a thread only if there are old files to remove, which may be slow.
    """
    if folders.folder.exists():
        await anyio.to_thread.run_sync(folders.make)
    else:
        folders.make()


class CloneSetup(Struct, frozen=True, kw_only=True):
    """What a clone gets besides its commit: copied files and a setup command."""

    copy: tuple[str, ...] = ()  # patterns of untracked files in the user's checkout
    setup: str = ""  # a command that runs once in the clone
    setup_timeout_s: float = 600.0
    setup_box: Box | None = None  # the template of that command's box; None: the agents'
    check_box: Box | None = None  # that of the checks in it


NO_SETUP = CloneSetup()

FindCloneSetup: TypeAlias = Callable[[str], Awaitable[CloneSetup | None]]
"""Returns the clone setup of a branch as it is at its tip; None if it is unknown."""


async def no_clone_setup(target: str) -> CloneSetup | None:
    return None


class BuiltClone(Struct, frozen=True, kw_only=True):
    borrows: bool
    alone: bool = False  # without history
    stores: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    lfs: bool = False
    notes: tuple[str, ...] = ()
    check_box: Box | None = None  # the template for checks in it


def _meta_of(made: BuiltClone, port: int = 0) -> Meta:
    return Meta(base="", target="", port=port, borrows=made.borrows, stores=made.stores)


class _ScriptOutput(NamedTuple):
    lines: list[str]
    too_much: list[str]  # files that were not copied


def _add_output(made: BuiltClone, printed: _ScriptOutput) -> BuiltClone:
    lfs = made.lfs or "lfs" in printed.lines
    paths = [line.removeprefix("submodule ") for line in printed.lines if line != "lfs"]
    notes = [
        *(["files kept by Git LFS are pointers here"] if lfs else []),
        *(f"submodule {path} can't be checked out here" for path in paths),
        *(f"{path} was not copied: it is too large" for path in printed.too_much),
    ]
    return replace(made, lfs=lfs, notes=(*made.notes, *notes))


class CloneBuilder:
    def __init__(
        self,
        repository: Repository,
        box_git: BoxGit,
        *,
        box: Box,
        stores: tuple[str, ...],
        links: tuple[str, ...],
        clone_setup: CloneSetup,
        find_clone_setup: FindCloneSetup,
        whole_history: bool = True,
    ) -> None:
        """Without `whole_history` a clone has copies of what its commit reaches, and no more."""
        self._repository = repository
        self._box_git = box_git
        self._box = box
        self._stores = stores
        self._links = {link: str(repository.root / link) for link in links}
        self._clone_setup = clone_setup  # the last known
        self._find_clone_setup = find_clone_setup
        self._may_borrow = whole_history

    async def make(
        self,
        folders: WorkspaceFolders,
        commit: str,
        workspace: str,
        label: str,
        *,
        target: str,  # "" if unknown
        extras: clone_layout.Extras,
        port: int = 0,
        lfs: bool | None = None,
        alone: bool = False,
    ) -> BuiltClone:
        """Put a commit into an empty tree, with everything a checkout needs, and run the setup.

        A clone that is `alone` has no git objects but those of this commit, and no history.

        `lfs` says whether Git LFS stores files of it; None means that this is to be found out.

        Raises GitError, BoxFailedError, LaunchError, UnsafeError or OSError if it can't be made.
        """
        if target:
            self._clone_setup = await self._find_clone_setup(target) or self._clone_setup
        clone_setup = self._clone_setup
        plan = await clone_layout.plan(self._repository, commit, extras, clone_setup.copy)
        made = BuiltClone(
            borrows=self._may_borrow and not alone,
            alone=alone,
            stores=tuple(submodule.store for submodule in plan.submodules),
            excluded=(*self._links, *plan.copies),
            lfs=plan.lfs or lfs or False,
            notes=plan.notes,
            check_box=clone_setup.check_box,
        )
        find_lfs = lfs is None and not made.lfs
        try:
            printed = await self._check_out(
                folders, commit, workspace, label, plan, made, find_lfs=find_lfs
            )
        except BoxFailedError:
            if not made.borrows:
                raise
            self._may_borrow = False  # the user in the box can't read all objects
            made = replace(made, borrows=False)
            await anyio.to_thread.run_sync(folders.reset)
            printed = await self._check_out(
                folders, commit, workspace, label, plan, made, find_lfs=find_lfs
            )
        if folders.staging.exists():  # usually no file had to be prepared
            await anyio.to_thread.run_sync(remove_tree, folders.staging)
        made = _add_output(made, printed)
        try:
            refused = await self._set_up(folders, made, clone_setup, label, port)
        except SetUpFailedError as error:
            raise SetUpFailedError(str(error), error.result, made.notes) from error
        return replace(made, notes=(*made.notes, *refused))

    @property
    def check_box(self) -> Box | None:
        """The template for checks, by the last target branch."""
        return self._clone_setup.check_box

    def box_of(
        self, folders: WorkspaceFolders, meta: Meta | None, template: Box | None = None
    ) -> Box:
        """`template`: None for the box of an agent."""
        template = template or self._box
        existing = tuple(self._existing_links())
        links = tuple(self._links[link] for link in existing)
        own = self._stores if meta is None or meta.borrows else ()
        stores = (*own, *(meta.stores if meta else ()))
        port = {"ALLSTOP_PORT": str(meta.port)} if meta and meta.port else {}
        linked = {name: each for link in existing for name, each in _LINKED.get(link, {}).items()}
        return replace(
            template,
            home=str(folders.home),
            workspace=str(folders.work),
            at=str(self._repository.root),
            objects=stores,
            read=(*template.read, *links),
            env={**template.env, **linked, **port},
        )

    def is_redirected(self, folders: WorkspaceFolders) -> bool:
        """Whether a symbolic link would move a linked folder to another place."""
        return any(
            (folders.work / part).is_symlink()
            for link in self._links
            for part in (Path(link), *Path(link).parents)
        )

    def alternates(self, meta: Meta) -> str:
        return clone_layout.alternates_of(self._paths_in_box(self._stores)) if meta.borrows else ""

    async def _check_out(
        self,
        folders: WorkspaceFolders,
        commit: str,
        workspace: str,
        label: str,
        plan: clone_layout.ClonePlan,
        made: BuiltClone,
        *,
        find_lfs: bool,
    ) -> _ScriptOutput:
        await self._prepare_git(folders, commit, workspace, plan, made)
        too_much = await self._prepare_files(folders.staging / "lay", commit, plan, made)
        box = replace(
            self.box_of(folders, _meta_of(made)),
            fresh=True,
            home=str(folders.staging if folders.staging.exists() else folders.home),
            read=(),  # mounted now, their parent folders would not belong to the user in the box
        )
        words = [word for submodule in plan.submodules for word in submodule[:2]]
        printed = await self._box_git.run(box, label, MAKE, commit, str(int(find_lfs)), *words)
        return _ScriptOutput(printed.splitlines(), too_much)

    async def _prepare_git(
        self,
        folders: WorkspaceFolders,
        commit: str,
        workspace: str,
        plan: clone_layout.ClonePlan,
        made: BuiltClone,
    ) -> None:
        borrowed = self._stores if made.borrows else ()
        stores = self._paths_in_box((*borrowed, *made.stores))
        own, others = stores[: len(borrowed)], stores[len(borrowed) :]
        files = clone_layout.files_of_clone(
            commit,
            f"allstop/{folder_name(workspace)}",
            stores=own,
            excluded=made.excluded,
            shallow=await self._shallow(commit, made),
        )
        clone_layout.write_git_folder(folders.work / ".git", files)
        for number, (submodule, store) in enumerate(zip(plan.submodules, others, strict=True)):
            folder = folders.staging / "lay" / "modules" / str(number)
            folder.parent.mkdir(parents=True, exist_ok=True)
            clone_layout.write_git_folder(
                folder, clone_layout.files_of_submodule(submodule.commit, store)
            )

    async def _shallow(self, commit: str, made: BuiltClone) -> bytes:
        """The commits at which the clone's history ends."""
        if made.alone:
            return f"{commit}\n".encode()
        return clone_layout.shallow_of(await self._repository.common_dir())

    async def _prepare_files(
        self, lay: Path, commit: str, plan: clone_layout.ClonePlan, made: BuiltClone
    ) -> list[str]:
        """Prepare the pack and the copied files, if any; returns files that are too large."""
        if not made.borrows:
            await self._repository.pack(lay / "pack", commit, alone=made.alone)
        _, too_much = clone_layout.copy_files(self._repository.root, plan.copies, lay / "copy")
        for link in self._existing_links():
            _prepare_vite(Path(self._links[link]))
            (lay / "copy" / link).parent.mkdir(parents=True, exist_ok=True)
        return too_much

    async def _set_up(
        self,
        folders: WorkspaceFolders,
        made: BuiltClone,
        clone_setup: CloneSetup,
        label: str,
        port: int,
    ) -> tuple[str, ...]:
        """Returns a note for each host that the command could not reach."""
        setup, timeout_s = clone_setup.setup, clone_setup.setup_timeout_s
        if not setup:
            return ()
        box = self.box_of(folders, _meta_of(made, port), clone_setup.setup_box)
        refused: list[str] = []
        with anyio.move_on_after(timeout_s) as scope:
            await self._box_git.set_up(box, label, setup, refused.append)
        if scope.cancelled_caught:
            took = "\n".join((f"setup took longer than {timeout_s:g} s", *refused))
            result = CheckResult(name=SETUP, run=setup, passed=False, timed_out=True, output=took)
            raise SetUpFailedError(f"{took}: {setup}", result)
        return tuple(f"setup: {each}" for each in refused)

    def _existing_links(self) -> list[str]:
        return [link for link, path in self._links.items() if os.path.isdir(path)]  # noqa: PTH112

    def _paths_in_box(self, stores: tuple[str, ...]) -> list[str]:
        """Return the paths of the object stores as programs in the box see them."""
        if not self._box_git.is_isolated:
            return list(stores)
        return [f"{BOXED_STORES}/{number}" for number in range(len(stores))]
