"""The folders of a workspace on disk, and the metadata that the host keeps about it."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from allstop.adapters.git.repository.cached_files import read_small
from allstop.adapters.git.repository.safe_names import folder_name


class Meta(Struct, frozen=True, kw_only=True):
    """The host's data about a workspace; kept in a folder that no agent can write to."""

    base: str
    target: str
    name: str = ""
    borrows: bool = True
    port: int = 0  # the first of its port range
    stores: tuple[str, ...] = ()  # of submodules, besides the repository's own
    excluded: tuple[str, ...] = ()  # paths that don't count as work
    lfs: bool = False  # some files are stored with Git LFS


META = "meta.json"
LARGEST_META = 64 * 1024**2  # `excluded` may name very many copied files
_decode = msgspec.json.Decoder(Meta).decode

MAX_TREES = 256

_DAMAGED = re.compile(r"damaged(-[0-9]+)?")

FIRST_PORT, PORTS = 41_000, 20
"""Each workspace gets a range of `PORTS` ports; the first range starts at `FIRST_PORT`."""


class PortRanges:
    """Finds free port ranges. A workspace keeps its range, so each range is read only once."""

    def __init__(self, workspaces: Path) -> None:
        self._workspaces = workspaces
        self._reserved: set[int] = set()  # of workspaces under construction
        self._taken: dict[tuple[str, int], int] = {}  # by folder name and inode

    @contextmanager
    def reserve(self) -> Iterator[int]:
        """Reserve a free range until the block ends and yield its first port; 0 if none is free."""
        taken = self._reserved | self._used()
        free = next((port for port in range(FIRST_PORT, 65_000, PORTS) if port not in taken), 0)
        self._reserved.add(free)
        try:
            yield free
        finally:
            self._reserved.discard(free)

    def _used(self) -> set[int]:
        with os.scandir(self._workspaces) as entries:
            here = {(entry.name, entry.inode()): entry.path for entry in entries if entry.is_dir()}
        ports = ((key, self._taken.get(key) or _port_of(path)) for key, path in here.items())
        self._taken = {key: port for key, port in ports if port}
        return set(self._taken.values())


def _port_of(folder: str) -> int:
    meta = WorkspaceFolders(Path(folder)).meta()
    return meta.port if meta else 0


class WorkspaceFolders:
    """The folders of one workspace. Building paths is slow, so each is built on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def work(self) -> Path:
        return self.folder / "tree"

    @cached_property
    def home(self) -> Path:
        return self.folder / "home"

    @cached_property
    def staging(self) -> Path:
        """A home for the creation only, if files are prepared in it or the real one exists."""
        return self.folder / "making"

    def damaged_copies(self) -> list[Path]:
        """Return the saved contents of damaged trees, the latest at the end."""
        found = (path for path in self.folder.glob("damaged*") if _DAMAGED.fullmatch(path.name))
        return sorted(found, key=lambda path: (len(path.name), path.name))

    @cached_property
    def refused_marker(self) -> Path:
        """Marks a workspace whose pack git refused."""
        return self.folder / "refused"

    @cached_property
    def _meta(self) -> Path:
        return self.folder / META

    @property
    def check(self) -> WorkspaceFolders:
        """The clean clone in which the work is checked."""
        return WorkspaceFolders(self.folder / "check")

    def variant(self, number: int) -> WorkspaceFolders:
        """The clean clone of a variant, below that of the work."""
        return WorkspaceFolders(self.folder / "variants" / str(number))

    def variants(self) -> list[WorkspaceFolders]:
        """Return the clean clones of variants that exist."""
        with suppress(OSError), os.scandir(self.folder / "variants") as entries:
            return [WorkspaceFolders(Path(entry.path)) for entry in entries]
        return []

    def meta(self) -> Meta | None:
        """Return the metadata; None if creation did not finish."""
        try:
            return _decode(read_small(f"{self.folder}/{META}", LARGEST_META))
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            return None

    def write_meta(self, meta: Meta) -> None:
        """Write the metadata; from here on the workspace is reopened instead of recreated."""
        waiting = self._meta.with_suffix(".new")
        waiting.write_bytes(msgspec.json.encode(meta))
        waiting.replace(self._meta)

    def make(self) -> None:
        """Create empty folders, removing any earlier content."""
        self.remove()
        for folder in (self.folder, self.work, self.home):
            folder.mkdir(mode=0o700, parents=True)

    def recreate(self) -> None:
        """Create an empty tree; its earlier content is saved under another name, the home stays."""
        if os.path.lexists(self.work):
            self.work.rename(self._next_damaged())
        remove_tree(self.staging)
        self.refused_marker.unlink(missing_ok=True)
        for folder in (self.work, self.home, self.staging):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _next_damaged(self) -> Path:
        before = self.damaged_copies()
        if not before:
            return self.folder / "damaged"
        return self.folder / f"damaged-{int(before[-1].name.partition('-')[2] or 1) + 1}"

    def reset(self) -> None:
        """Discard a half-made clone."""
        for folder in (self.work, self.staging):
            remove_tree(folder)
            folder.mkdir(mode=0o700)

    def remove(self) -> None:
        remove_tree(self.folder)


class FolderCache:
    """The folders of all workspaces, cached by name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, WorkspaceFolders] = {}

    def of(self, workspace: str) -> WorkspaceFolders:
        if workspace not in self._made:
            if len(self._made) >= MAX_TREES:
                self._made.clear()
            self._made[workspace] = WorkspaceFolders(self._folder / folder_name(workspace))
        return self._made[workspace]


def remove_tree(folder: Path) -> None:
    """Remove a folder, even if a program took away its owner's permissions."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    if not folder.exists():
        return
    try:
        shutil.rmtree(folder)
    except OSError:
        _unlock(folder)
        shutil.rmtree(folder)


def _unlock(folder: Path) -> None:
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(parent, name)  # noqa: PTH118 - os.walk yields names
            if not stat.S_ISLNK(os.lstat(path).st_mode):
                os.chmod(path, 0o700, follow_symlinks=True)  # noqa: PTH101
