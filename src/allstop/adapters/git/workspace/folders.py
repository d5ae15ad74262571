"""The folders of a workspace, and what the host knows of it."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from allstop.adapters.git.repository.cached_files import content
from allstop.adapters.git.repository.safe_names import folder_name


class Meta(Struct, frozen=True, kw_only=True):
    """What the host knows of a workspace; kept where no agent can write."""

    base: str
    target: str
    name: str = ""
    borrows: bool = True
    port: int = 0  # the first of its own range
    stores: tuple[str, ...] = ()  # of submodules, besides the repository's own
    excluded: tuple[str, ...] = ()  # paths in it that are nobody's work
    lfs: bool = False  # Git LFS keeps files of it


META = "meta.json"
LARGEST_META = 64 * 1024**2  # where a person has very many files copied
_decode = msgspec.json.Decoder(Meta).decode

MOST_TREES = 256

_DAMAGED = re.compile(r"damaged(-[0-9]+)?")

FIRST_PORT, PORTS = 41_000, 20
"""Each workspace has so many ports of its own, from the first one on."""


class Ports:
    """Which ranges are free. A workspace keeps its own, so each is read only once."""

    def __init__(self, workspaces: Path) -> None:
        self._workspaces = workspaces
        self._promised: set[int] = set()  # of workspaces that are being made here
        self._taken: dict[tuple[str, int], int] = {}  # by name and by which folder of that name

    @contextmanager
    def promised(self) -> Iterator[int]:
        """The first of a range that no other workspace has, until it is written down; 0 for none."""
        taken = self._promised | self._written_down()
        free = next((port for port in range(FIRST_PORT, 65_000, PORTS) if port not in taken), 0)
        self._promised.add(free)
        try:
            yield free
        finally:
            self._promised.discard(free)

    def _written_down(self) -> set[int]:
        with os.scandir(self._workspaces) as entries:
            here = {(entry.name, entry.inode()): entry.path for entry in entries if entry.is_dir()}
        ports = ((key, self._taken.get(key) or _port_of(path)) for key, path in here.items())
        self._taken = {key: port for key, port in ports if port}
        return set(self._taken.values())


def _port_of(folder: str) -> int:
    meta = Tree(Path(folder)).meta()
    return meta.port if meta else 0


class Tree:
    """One workspace on disk. Paths are slow to make: each is made when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def work(self) -> Path:
        return self.folder / "tree"

    @cached_property
    def home(self) -> Path:
        return self.folder / "home"

    @cached_property
    def making(self) -> Path:
        """The home while it is made, where something is laid into it or it has another already."""
        return self.folder / "making"

    def put_aside(self) -> list[Path]:
        """Trees that were damaged, each as it was left; the last one at the end."""
        found = (path for path in self.folder.glob("damaged*") if _DAMAGED.fullmatch(path.name))
        return sorted(found, key=lambda path: (len(path.name), path.name))

    @cached_property
    def refused(self) -> Path:
        """Is there when git would not take what came from it."""
        return self.folder / "refused"

    @cached_property
    def _meta(self) -> Path:
        return self.folder / META

    @property
    def check(self) -> Tree:
        """Where its work is checked."""
        return Tree(self.folder / "check")

    def meta(self) -> Meta | None:
        """None where it was never finished."""
        try:
            return _decode(content(f"{self.folder}/{META}", LARGEST_META))
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            return None

    def finish(self, meta: Meta) -> None:
        """From now on it is taken up as it is."""
        waiting = self._meta.with_suffix(".new")
        waiting.write_bytes(msgspec.json.encode(meta))
        waiting.replace(self._meta)

    def make(self) -> None:
        """Empty folders, whatever was there before."""
        self.remove()
        for folder in (self.folder, self.work, self.home):
            folder.mkdir(mode=0o700, parents=True)

    def make_anew(self) -> None:
        """An empty tree; what was in it is put aside beside what was before, the home stays."""
        if os.path.lexists(self.work):
            self.work.rename(self._aside())
        remove_tree(self.making)
        self.refused.unlink(missing_ok=True)
        for folder in (self.work, self.home, self.making):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _aside(self) -> Path:
        before = self.put_aside()
        if not before:
            return self.folder / "damaged"
        return self.folder / f"damaged-{int(before[-1].name.partition('-')[2] or 1) + 1}"

    def empty(self) -> None:
        """Begin again with what is being made."""
        for folder in (self.work, self.making):
            remove_tree(folder)
            folder.mkdir(mode=0o700)

    def remove(self) -> None:
        remove_tree(self.folder)


class Trees:
    """Those of all workspaces; what is asked for again and again is not made anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Tree] = {}

    def of(self, workspace: str) -> Tree:
        if workspace not in self._made:
            if len(self._made) >= MOST_TREES:
                self._made.clear()
            self._made[workspace] = Tree(self._folder / folder_name(workspace))
        return self._made[workspace]


def remove_tree(folder: Path) -> None:
    """Also where a program made folders that not even their owner may enter."""
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
            path = os.path.join(parent, name)  # noqa: PTH118 - walked by name
            if not stat.S_ISLNK(os.lstat(path).st_mode):
                os.chmod(path, 0o700, follow_symlinks=True)  # noqa: PTH101
