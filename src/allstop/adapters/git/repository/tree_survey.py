"""A survey of a commit's tree: paths, the beginnings of a few files, the latest commit subjects.

Everything is read from git's object store with fixed limits, and nothing is run.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allstop.adapters.git.repository.repository import Repository
from allstop.core.moves import Excerpt, Surveyed
from allstop.core.text import one_line, plain

MAX_PATHS = 200
MAX_FOLDERS = 40
MAX_FILES = 4
MAX_SUBJECTS = 5
FILE_CHARS = 1500
PATH_CHARS = 200
MAX_BYTES = 256 * 1024
"""The largest folder listing or file that is read; larger ones are only named."""

DESCRIPTIVE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"readme(\.\w+)?",
        r"(agents|claude)\.md",
        r"(roadmap|todo)(\.\w+)?",
        r"pyproject\.toml|package\.json|cargo\.toml|go\.mod|pom\.xml|build\.gradle(\.kts)?",
        r"makefile|justfile",
        r"contributing(\.\w+)?",
    )
)
"""Files that describe a repository, the most useful first."""


class _Entry(NamedTuple):
    mode: str
    kind: str
    name: str
    size_bytes: int
    path: str


async def survey(repository: Repository, commit: str) -> Surveyed:
    """Raises GitError if the repository can't be read."""
    top = await _list_tree(repository, f"{commit}^{{tree}}")
    folders = [entry for entry in top if entry.kind == "tree"][:MAX_FOLDERS]
    paths = [f"{entry.path}/" if entry.kind == "tree" else entry.path for entry in top]
    for folder in folders:
        below = await _list_tree(repository, folder.name)
        paths += [
            f"{folder.path}/{entry.path}" + ("/" if entry.kind == "tree" else "") for entry in below
        ]
    return Surveyed(
        commit=commit,
        paths=tuple(one_line(path, PATH_CHARS) for path in paths[:MAX_PATHS]),
        more=max(0, len(paths) - MAX_PATHS),
        files=tuple(await _read(repository, _descriptive_files(top))),
        subjects=await _subjects(repository, commit),
    )


async def _list_tree(repository: Repository, tree: str) -> list[_Entry]:
    (info,) = await repository.look_up(tree)
    if info is None or info.kind != "tree" or info.size_bytes > MAX_BYTES:
        return []
    out = await repository.output("ls-tree", "--full-tree", "-z", "-l", info.name)
    return [_parse_entry(line) for line in out.split(b"\0") if line]


def _parse_entry(line: bytes) -> _Entry:
    info, _, path = line.partition(b"\t")
    mode, kind, name, size = info.decode().split()
    return _Entry(
        mode, kind, name, int(size) if size.isdigit() else 0, path.decode(errors="replace")
    )


def _descriptive_files(entries: Sequence[_Entry]) -> list[_Entry]:
    """Return regular files only: the content of a symbolic link is a path to another place."""
    files = [e for e in entries if e.mode.startswith("100") and e.size_bytes <= MAX_BYTES]
    found = [file for each in DESCRIPTIVE for file in files if each.fullmatch(file.path)]
    return found[:MAX_FILES]


async def _read(repository: Repository, entries: Sequence[_Entry]) -> Iterator[Excerpt]:
    if not entries:
        return iter(())
    names = "".join(f"{entry.name}\n" for entry in entries).encode()
    out = await repository.output("cat-file", "--batch", stdin=names)
    return _excerpts(entries, out)


def _excerpts(entries: Sequence[_Entry], out: bytes) -> Iterator[Excerpt]:
    rest = memoryview(out)
    for entry in entries:
        front = bytes(rest[:100]).partition(b"\n")[0]
        start = len(front) + 1
        content = bytes(rest[start : start + entry.size_bytes])
        rest = rest[start + entry.size_bytes + 1 :]
        if b"\0" not in content:
            text = plain(content[: 4 * FILE_CHARS].decode(errors="replace"))[:FILE_CHARS]
            yield Excerpt(path=one_line(entry.path, PATH_CHARS), text=text)


async def _subjects(repository: Repository, commit: str) -> tuple[str, ...]:
    most = f"--max-count={MAX_SUBJECTS}"
    out = await repository.output(
        "rev-list", most, "--no-commit-header", "--format=%s", commit, "--"
    )
    lines = out.decode(errors="replace").splitlines()
    return tuple(one_line(line, 120) for line in lines[:MAX_SUBJECTS])
