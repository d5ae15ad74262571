"""The changes of a piece of work, read from the user's repository without running anything."""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from allstop.adapters.git.repository.repository import Repository
from allstop.gate import path_kinds, runner_settings
from allstop.gate.facts import ChangedFile, Variant
from allstop.ports import FileChange

MAX_FILE_BYTES = 1024**2
MAX_BYTES = 32 * 1024**2
"""Files beyond this total are named, but their lines are not read."""

KEPT = 8
MAX_KEPT_BYTES = 1024**2
"""Of one piece of work; larger ones are read each time."""

NO_MODE = "000000"

ALLSTOP_IDENTITY = {
    "GIT_AUTHOR_NAME": "Allstop",
    "GIT_AUTHOR_EMAIL": "agent@allstop.invalid",
    "GIT_COMMITTER_NAME": "Allstop",
    "GIT_COMMITTER_EMAIL": "agent@allstop.invalid",
}


class RawChange(NamedTuple):
    """One file of `git diff --raw`."""

    path: str
    status: str
    old_mode: str
    old: str
    new: str
    new_mode: str = ""


async def raw_changes(
    repository: Repository, base: str, commit: str, *, renames: str = "--no-renames"
) -> list[RawChange]:
    out = await repository.output(
        "diff-tree", "-r", "-z", "--raw", "--no-abbrev", renames, "--no-ext-diff", base, commit, "--"
    )  # fmt: skip
    return list(parse_raw(iter(out.split(b"\0"))))


def parse_raw(fields: Iterator[bytes]) -> Iterator[RawChange]:
    """Yield a rename as two changes: the old name is deleted, the new name gets the content."""
    for info in fields:
        if not info:
            return
        old_mode, new_mode, old, new, status = info.decode().lstrip(":").split()
        path = os.fsdecode(next(fields))
        if status[0] == "R":
            yield RawChange(path, "D", old_mode, old, "")
            yield RawChange(os.fsdecode(next(fields)), "R", NO_MODE, old, new, new_mode)
        else:
            kind = "M" if status[0] == "T" else status[0]
            yield RawChange(path, kind, old_mode, old, new, new_mode)


class ChangeReader:
    """Reads what commits change. It keeps the latest few, because a gate asks several times."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._kept: dict[tuple[str, str], tuple[list[RawChange], dict[str, bytes]]] = {}

    async def file_changes(self, base: str, commit: str) -> list[FileChange]:
        """Return the changed files with their added lines.

        Raises GitError if one of the commits can't be read.
        """
        changes, texts = await self._read(base, commit)
        return [
            FileChange(
                printable(raw.path), raw.status, _added(raw, texts), _tests_differently(raw, texts)
            )
            for raw in changes
        ]

    async def changed_files(self, base: str, commit: str) -> list[ChangedFile]:
        """Return the changed files with both versions; a rename is one of them.

        Raises GitError if one of the commits can't be read.
        """
        changes, texts = await self._read(base, commit)
        moved = {raw.path: before.path for before, raw in pairwise(changes) if raw.status == "R"}
        return [
            _changed_file(raw, moved.get(raw.path, ""), texts)
            for number, raw in enumerate(changes)
            if not (
                raw.status == "D"
                and number + 1 < len(changes)
                and changes[number + 1].status == "R"
            )
        ]

    async def _read(self, base: str, commit: str) -> tuple[list[RawChange], dict[str, bytes]]:
        if (kept := self._kept.get((base, commit))) is not None:
            return kept
        changes = await raw_changes(self._repository, base, commit, renames="--find-renames")
        texts = await _texts(self._repository, changes)
        if sum(map(len, texts.values())) <= MAX_KEPT_BYTES:
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[base, commit] = changes, texts
        return changes, texts


def _changed_file(raw: RawChange, old_path: str, texts: Mapping[str, bytes]) -> ChangedFile:
    try:
        before = texts[raw.old].decode() if raw.old.strip("0") else None
        after = texts[raw.new].decode() if raw.status != "D" else None
    except (KeyError, UnicodeDecodeError):
        before = "" if raw.old.strip("0") else None
        after = "" if raw.status != "D" else None
        return ChangedFile(
            path=printable(raw.path),
            old_path=printable(old_path),
            before=before,
            after=after,
            is_readable=False,
        )
    return ChangedFile(
        path=printable(raw.path), old_path=printable(old_path), before=before, after=after
    )


async def texts_of(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """Return those files of a commit that exist, are text and not too large.

    The paths may come from reports, so from the work: git would fail at one outside the tree.
    """
    paths = [path for path in paths if _is_inside(path)]
    found = await repository.look_up(*(f"{commit}:{path}" for path in paths))
    blobs = {path: info.name for path, info in zip(paths, found, strict=True) if info}
    texts = await _read(repository, list(dict.fromkeys(blobs.values())))
    shown: dict[str, str] = {}
    for path, blob in blobs.items():
        with suppress(KeyError, UnicodeDecodeError):
            shown[path] = texts[blob].decode()
    return shown


def _is_inside(path: str) -> bool:
    return "\n" not in path and not {"", ".", ".."}.intersection(path.split("/"))


def _tests_differently(raw: RawChange, texts: Mapping[str, bytes]) -> bool:
    """A version that is missing counts as empty, one that is too large as changed."""
    sides = (raw.old if _has_old(raw) else "", raw.new if raw.status != "D" else "")
    if any(blob and blob.strip("0") and blob not in texts for blob in sides):
        return runner_settings.differ(raw.path, b"", b"\xff")
    old, new = (texts.get(blob, b"") for blob in sides)
    return runner_settings.differ(raw.path, old, new)


def printable(path: str) -> str:
    """Return the path as valid text, whatever bytes it has."""
    return os.fsencode(path).decode(errors="replace")


def _added(raw: RawChange, texts: dict[str, bytes]) -> tuple[str, ...]:
    """Return lines that occur more often than before, in order; moved lines don't count."""
    if raw.status == "D" or raw.new not in texts or (_has_old(raw) and raw.old not in texts):
        return ()
    before = Counter(texts[raw.old].split(b"\n")) if _has_old(raw) else Counter[bytes]()
    added = []
    for line in texts[raw.new].split(b"\n"):
        if before[line] > 0:
            before[line] -= 1
        elif line:
            added.append(line.decode(errors="replace"))
    return tuple(added)


def _has_old(raw: RawChange) -> bool:
    return raw.old.strip("0") != ""


async def _texts(repository: Repository, changes: Sequence[RawChange]) -> dict[str, bytes]:
    """Return contents that are small enough.

    Tests first, so that large files can't crowd them out.
    """
    ordered = sorted(changes, key=lambda raw: not path_kinds.is_test(raw.path))
    wanted = [blob for raw in ordered for blob in (raw.new, raw.old) if blob.strip("0")]
    return await _read(repository, list(dict.fromkeys(wanted)))


async def _read(repository: Repository, blobs: Sequence[str]) -> dict[str, bytes]:
    chosen = await _small(repository, blobs) if blobs else []
    if not chosen:
        return {}
    names = "".join(f"{name}\n" for name in chosen).encode()
    out = await repository.output("cat-file", "--batch", stdin=names)
    return dict(_contents(out))


async def _small(repository: Repository, blobs: Sequence[str]) -> list[str]:
    chosen, total = [], 0
    for info in await repository.look_up(*blobs):
        if info is None or info.kind != "blob":
            continue
        if info.size_bytes <= min(MAX_FILE_BYTES, MAX_BYTES - total):
            chosen.append(info.name)
            total += info.size_bytes
    return chosen


def _contents(out: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, size = out[at:end].decode().split()
        at = end + 1 + int(size) + 1
        yield name, out[end + 1 : at - 1]


# --- the base's version of some paths ---


async def with_restored(
    repository: Repository, base: str, commit: str, patterns: Sequence[str], folder: Path
) -> str:
    """Return the commit, or a child of it in which matching paths have the base's version.

    The child is built from git objects, so that no symbolic link in the tree can redirect a file.

    Raises GitError if git can't make it.
    """
    changes = await raw_changes(repository, base, commit)
    shared = [raw for raw in changes if runner_settings.is_shared(raw.path)]
    texts = await _texts(repository, shared) if shared else {}
    touched = [
        raw
        for raw in changes
        if path_kinds.matches_change(
            printable(raw.path), patterns, tests_differently=_tests_differently(raw, texts)
        )
    ]
    if not touched:
        return commit
    with tempfile.TemporaryDirectory(dir=folder, prefix=".index-") as scratch:
        env = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
        await repository.output("read-tree", commit, env=env)
        gone = [_index_entry(NO_MODE, "0" * len(raw.new), raw) for raw in touched]
        back = [_index_entry(raw.old_mode, raw.old, raw) for raw in touched if _has_old(raw)]
        await repository.output(
            "update-index", "-z", "--index-info", stdin=b"".join(gone + back), env=env
        )
        tree = (await repository.output("write-tree", env=env)).decode().strip()
    message = "Protected paths as in the base"
    return await make_commit(repository, tree, (commit,), message)


def _index_entry(mode: str, blob: str, raw: RawChange) -> bytes:
    return f"{mode} {blob}\t".encode() + os.fsencode(raw.path) + b"\0"


async def make_commit(
    repository: Repository, tree: str, parents: Sequence[str], message: str
) -> str:
    """Make a commit without a ref. The author is the user, or Allstop if git has no identity set.

    Raises GitError if git can't write it.
    """
    words = [word for parent in parents for word in ("-p", parent)]
    text = message.encode(errors="replace")
    command = ("-c", "user.useConfigOnly=true", "commit-tree", tree, *words, "-F", "-")
    done = await repository.run(*command, stdin=text)
    if done.code == 0:
        return done.out.decode().strip()
    out = await repository.output(*command[2:], stdin=text, env=ALLSTOP_IDENTITY)
    return out.decode().strip()


# --- variants ---


async def paths_of(repository: Repository, commit: str) -> list[str]:
    """Return the paths of a commit's files."""
    out = await repository.output("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    return [printable(os.fsdecode(path)) for path in out.split(b"\0") if path]


async def variant_commit(
    repository: Repository, start: str, other: str, variant: Variant, folder: Path
) -> str:
    """Return `start`, or a child of it with the variant's files.

    Raises GitError if git can't make it.
    """
    if not variant.swapped and not variant.files:
        return start
    entries = await _entries_of(repository, other, variant.swapped)
    for path, text in variant.files.items():
        blob = await repository.output("hash-object", "-w", "--stdin", stdin=text.encode())
        entries[path] = f"100644 {blob.decode().strip()}"
    nothing = f"{NO_MODE} {'0' * len(start)}"
    lines = [
        f"{entry}\t".encode() + os.fsencode(path) + b"\0"
        for path in (*variant.swapped, *variant.files)
        for entry in dict.fromkeys((nothing, entries.get(path, nothing)))
    ]
    with tempfile.TemporaryDirectory(dir=folder, prefix=".index-") as scratch:
        env = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
        await repository.output("read-tree", start, env=env)
        await repository.output(
            "update-index", "-z", "--index-info", stdin=b"".join(lines), env=env
        )
        tree = (await repository.output("write-tree", env=env)).decode().strip()
    return await make_commit(repository, tree, (start,), "Variant for a check")


async def _entries_of(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """Return mode and blob of those paths that the commit has."""
    if not paths:
        return {}
    out = await repository.output("ls-tree", "-r", "-z", "--full-tree", commit)
    wanted = frozenset(paths)
    entries: dict[str, str] = {}
    for row in out.split(b"\0"):
        info, _, name = row.partition(b"\t")
        path = os.fsdecode(name)
        if path in wanted:
            mode, _, blob = info.decode().split()
            entries[path] = f"{mode} {blob}"
    return entries
