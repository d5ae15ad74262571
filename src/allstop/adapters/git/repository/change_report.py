"""What a piece of work changed, read from the user's repository; nothing of it is run."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from allstop.adapters.git.repository.repository import Repository
from allstop.board import change_findings
from allstop.ports import FileChange

MOST_FILE_BYTES = 1024**2
MOST_BYTES = 32 * 1024**2
"""What is beyond this is named, but its lines are not looked at."""

GONE = "000000"

NOBODY = {
    "GIT_AUTHOR_NAME": "Allstop",
    "GIT_AUTHOR_EMAIL": "agent@allstop.invalid",
    "GIT_COMMITTER_NAME": "Allstop",
    "GIT_COMMITTER_EMAIL": "agent@allstop.invalid",
}


class Raw(NamedTuple):
    """One file, as `git diff --raw` tells of it."""

    path: str
    status: str
    old_mode: str
    old: str
    new: str
    new_mode: str = ""


async def raw_changes(
    repository: Repository, base: str, commit: str, *, renames: str = "--no-renames"
) -> list[Raw]:
    out = await repository.output(
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-abbrev",
        renames,
        "--no-ext-diff",
        base,
        commit,
        "--",
    )
    return list(parsed(iter(out.split(b"\0"))))


def parsed(fields: Iterator[bytes]) -> Iterator[Raw]:
    """A rename is told as two: the old name is gone, the new one has its content."""
    for about in fields:
        if not about:
            return
        old_mode, new_mode, old, new, status = about.decode().lstrip(":").split()
        path = os.fsdecode(next(fields))
        if status[0] == "R":
            yield Raw(path, "D", old_mode, old, "")
            yield Raw(os.fsdecode(next(fields)), "R", GONE, old, new, new_mode)
        else:
            kind = "M" if status[0] == "T" else status[0]
            yield Raw(path, kind, old_mode, old, new, new_mode)


async def file_changes(repository: Repository, base: str, commit: str) -> list[FileChange]:
    """
    Raises:
        GitError: one of them can't be read.
    """
    raws = await raw_changes(repository, base, commit, renames="--find-renames")
    texts = await _texts(repository, raws)
    return [FileChange(shown(raw.path), raw.status, _added(raw, texts)) for raw in raws]


def shown(path: str) -> str:
    """As text that can be written down, whatever bytes the name has."""
    return os.fsencode(path).decode(errors="replace")


def _added(raw: Raw, texts: dict[str, bytes]) -> tuple[str, ...]:
    """Lines that there are more of than before, in their order; one that only moved isn't new."""
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


def _has_old(raw: Raw) -> bool:
    return raw.old.strip("0") != ""


async def _texts(repository: Repository, raws: Sequence[Raw]) -> dict[str, bytes]:
    """The contents that are small enough; tests first, so that nothing big can hide them."""
    ordered = sorted(raws, key=lambda raw: not change_findings.is_test(raw.path))
    wanted = [
        blob
        for raw in ordered
        if raw.status != "D"
        for blob in (raw.new, raw.old)
        if blob.strip("0")
    ]
    if not wanted:
        return {}
    chosen = await _small(repository, list(dict.fromkeys(wanted)))
    out = await repository.output("cat-file", "--batch", stdin=_lines(chosen))
    return dict(_contents(out))


async def _small(repository: Repository, blobs: Sequence[str]) -> list[str]:
    chosen, total = [], 0
    for about in await repository.looked_up(*blobs):
        if about is None or about.kind != "blob":
            continue
        if about.size_bytes <= min(MOST_FILE_BYTES, MOST_BYTES - total):
            chosen.append(about.name)
            total += about.size_bytes
    return chosen


def _contents(out: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, size = out[at:end].decode().split()
        at = end + 1 + int(size) + 1
        yield name, out[end + 1 : at - 1]


def _lines(names: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


# --- the base's version of some paths ---


async def with_restored(
    repository: Repository, base: str, commit: str, patterns: Sequence[str], folder: Path
) -> str:
    """The commit, or one on top of it in which paths that match are as in the base.

    It is made of git's own objects, so that no link in the tree can lead a file astray.

    Raises:
        GitError: git can't make it.
    """
    touched = [
        raw
        for raw in await raw_changes(repository, base, commit)
        if change_findings.matches(shown(raw.path), patterns)
    ]
    if not touched:
        return commit
    with tempfile.TemporaryDirectory(dir=folder, prefix=".index-") as place:
        env = {"GIT_INDEX_FILE": str(Path(place, "index"))}
        await repository.output("read-tree", commit, env=env)
        gone = [_entry(GONE, "0" * len(raw.new), raw) for raw in touched]
        back = [_entry(raw.old_mode, raw.old, raw) for raw in touched if _has_old(raw)]
        await repository.output(
            "update-index", "-z", "--index-info", stdin=b"".join(gone + back), env=env
        )
        tree = (await repository.output("write-tree", env=env)).decode().strip()
    message = "Protected paths as in the base"
    return await make_commit(repository, tree, (commit,), message)


def _entry(mode: str, blob: str, raw: Raw) -> bytes:
    return f"{mode} {blob}\t".encode() + os.fsencode(raw.path) + b"\0"


async def make_commit(
    repository: Repository, tree: str, parents: Sequence[str], message: str
) -> str:
    """A commit that no ref has yet, by the user; by Allstop where git isn't told who that is.

    Raises:
        GitError: git can't write it.
    """
    words = [word for parent in parents for word in ("-p", parent)]
    text = message.encode(errors="replace")
    who = ("-c", "user.useConfigOnly=true", "commit-tree", tree, *words, "-F", "-")
    done = await repository.run(*who, stdin=text)
    if done.code == 0:
        return done.out.decode().strip()
    out = await repository.output(*who[2:], stdin=text, env=NOBODY)
    return out.decode().strip()
