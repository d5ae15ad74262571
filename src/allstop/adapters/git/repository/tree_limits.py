"""Limits on the trees of incoming commits, checked before anything walks through them.

A tree can name another one many times: ten objects can stand for 10^9 paths. So sizes are computed
per tree object, each once, and never by listing paths.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allstop.adapters.git.repository.repository import GitError, Repository

MAX_PATHS = 1_000_000
"""Or twice as many as the base has."""
MAX_DEPTH = 256
MAX_FILE_BYTES = 8 * 1024**3
"""The most bytes that the new files of one commit may take when they are checked out."""
MAX_TREE_BYTES = 512 * 1024**2
"""The most bytes that all new tree objects may have."""
_FOLDER = b"40000"


class TreeSize(NamedTuple):
    paths: int = 0
    depth: int = 0
    new_bytes: int = 0


class _Entries(NamedTuple):
    folders: tuple[str, ...]
    files: tuple[str, ...]


class TreeLimits:
    """Remembers the sizes of trees: the base's are read once, later only changed ones."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._sizes: dict[str, TreeSize] = {}

    async def check(self, base: str, listed: Sequence[bytes]) -> None:
        """Check the objects that `git rev-list --objects` has listed as new.

        Raises GitError if a commit's tree is too large or too deep.
        """
        names = [line.split(b" ", 1)[0].decode() for line in listed]
        found = [info for info in await self._repository.look_up(*names) if info] if names else []
        trees = [info for info in found if info.kind == "tree"]
        if sum(info.size_bytes for info in trees) > MAX_TREE_BYTES:
            raise _too_large(f"its folder listings have more than {MAX_TREE_BYTES:,} bytes")
        sizes = {info.name: info.size_bytes for info in found if info.kind == "blob"}
        entries = await self._read([info.name for info in trees])
        (root,) = await self._repository.resolve(f"{base}^{{tree}}")
        await self._add_older(entries, [root] if root else [])
        for tree in entries:
            self._measure(tree, entries, sizes)
        before = self._sizes[root].paths if root else 0
        for info in trees:
            _refuse(self._sizes[info.name], max(MAX_PATHS, 2 * before))

    async def _add_older(self, entries: dict[str, _Entries], also: Sequence[str]) -> None:
        """Read the trees that the new ones name and that no earlier check has measured."""
        named = {folder for each in entries.values() for folder in each.folders} | {*also}
        unknown = sorted(named - entries.keys() - self._sizes.keys())
        if not unknown:
            return
        out = await self._repository.output(
            "rev-list", "--objects", "--no-object-names", "--filter=blob:none", "--stdin",
            stdin="".join(f"{name}\n" for name in unknown).encode(),
        )  # fmt: skip
        older = [name for name in out.decode().split() if name not in self._sizes]
        entries.update(await self._read(older))

    async def _read(self, trees: Sequence[str]) -> dict[str, _Entries]:
        if not trees:
            return {}
        names = "".join(f"{name}\n" for name in trees).encode()
        out = await self._repository.output("cat-file", "--batch", stdin=names)
        return dict(_parse(out))

    def _measure(self, tree: str, entries: dict[str, _Entries], sizes: dict[str, int]) -> None:
        """Compute the size of a tree after those of its folders, without recursion."""
        waiting = [tree]
        while waiting:
            name = waiting[-1]
            if name in self._sizes:
                waiting.pop()
                continue
            folders, files = entries[name]
            if unknown := [each for each in folders if each not in self._sizes]:
                waiting += unknown
                continue
            waiting.pop()
            below = [self._sizes[each] for each in folders]
            self._sizes[name] = TreeSize(
                len(files) + sum(1 + each.paths for each in below),
                1 + max((each.depth for each in below), default=0),
                sum(sizes.get(each, 0) for each in files) + sum(each.new_bytes for each in below),
            )


def _parse(out: bytes) -> Iterator[tuple[str, _Entries]]:
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, size = out[at:end].decode().split()
        at = end + 1 + int(size)
        yield name, _entries(out[end + 1 : at], len(name) // 2)
        at += 1


def _entries(content: bytes, id_bytes: int) -> _Entries:
    folders: list[str] = []
    files: list[str] = []
    at = 0
    while at < len(content):
        mode_end = content.index(b" ", at)
        name_end = content.index(b"\0", mode_end)
        child = content[name_end + 1 : name_end + 1 + id_bytes].hex()
        (folders if content[at:mode_end].lstrip(b"0") == _FOLDER else files).append(child)
        at = name_end + 1 + id_bytes
    return _Entries(tuple(folders), tuple(files))


def _refuse(size: TreeSize, most_paths: int) -> None:
    if size.depth > MAX_DEPTH:
        raise _too_large(f"its folders are nested {size.depth:,} deep, at most {MAX_DEPTH} may be")
    if size.paths > most_paths:
        raise _too_large(f"it has {size.paths:,} files and folders, at most {most_paths:,} may be")
    if size.new_bytes > MAX_FILE_BYTES:
        raise _too_large(
            f"its new files have {size.new_bytes:,} bytes, at most {MAX_FILE_BYTES:,} may be"
        )


def _too_large(why: str) -> GitError:
    return GitError(f"the work has a commit that is too large: {why}", code="tree_too_large")
