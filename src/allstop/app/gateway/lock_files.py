"""The package registries that the lock files of a commit name."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from anyio import to_thread

from allstop.settings.detection.registries import is_lock_file, registries_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allstop.adapters.git.repository.repository import Repository

MAX_FILES = 50
MAX_FOLDERS = 3
MAX_BYTES = 16 * 1024 * 1024


class LockFile(NamedTuple):
    path: str
    hosts: tuple[str, ...]


class LockFiles:
    """Reads a tree's lock files, and remembers them until the tree changes."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._of_tree: dict[str, tuple[LockFile, ...]] = {}
        self._of_blob: dict[tuple[str, str], tuple[str, ...]] = {}

    async def of(self, tree: str) -> tuple[LockFile, ...]:
        """Raises GitError if git can't read the tree."""
        if tree not in self._of_tree:
            self._of_tree = {tree: await self._read(tree)}
        return self._of_tree[tree]

    async def _read(self, tree: str) -> tuple[LockFile, ...]:
        listed = await self._repository.output("ls-tree", "-r", "-z", "-l", "--full-tree", tree)
        blobs = dict(list(_lock_files(listed))[:MAX_FILES])
        keys = {path: (PurePosixPath(path).name, blob) for path, blob in blobs.items()}
        new = list(dict.fromkeys(key for key in keys.values() if key not in self._of_blob))
        if new:
            asked = "".join(f"{blob}\n" for _, blob in new).encode()
            given = await self._repository.output("cat-file", "--batch", stdin=asked)
            texts = _contents(given)
            found = await to_thread.run_sync(
                lambda: {key: registries_in(key[0], texts.get(key[1], "")) for key in new}
            )
            kept = {key: hosts for key, hosts in self._of_blob.items() if key in keys.values()}
            self._of_blob = {**kept, **found}
        return tuple(LockFile(path, self._of_blob[key]) for path, key in sorted(keys.items()))


def hosts_of(files: tuple[LockFile, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(host for file in files for host in file.hosts))


def _lock_files(listed: bytes) -> Iterator[tuple[str, str]]:
    for line in listed.split(b"\0"):
        info, _, path = line.decode(errors="replace").partition("\t")
        folders, _, name = path.rpartition("/")
        if not is_lock_file(name) or folders.count("/") >= MAX_FOLDERS:
            continue
        mode, _, blob, size = info.split()
        if mode.startswith("100") and size.isdecimal() and int(size) <= MAX_BYTES:
            yield path, blob


def _contents(given: bytes) -> Mapping[str, str]:
    """What `git cat-file --batch` printed, by the name of each blob."""
    texts: dict[str, str] = {}
    at = 0
    while (end := given.find(b"\n", at)) != -1:
        words = given[at:end].decode().split()
        if len(words) != 3:  # "missing"
            at = end + 1
            continue
        size = int(words[2])
        texts[words[0]] = given[end + 1 : end + 1 + size].decode(errors="replace")
        at = end + 1 + size + 1
    return texts
