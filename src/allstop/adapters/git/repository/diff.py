"""What lies between two commits of the user's repository, to be shown to people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import is_commit_name

LONGEST_PATCH = 400_000

_BEGINS = b"diff --git "
_PLAINLY = ("--no-ext-diff", "--no-textconv", "--no-color", "-M")
_CHANGES = {"A": "added", "D": "removed", "R": "renamed"}


class ChangedFile(NamedTuple):
    path: str
    change: str  # added, changed, removed, renamed
    added: int | None  # lines; None where it is no text
    removed: int | None


class Shown(NamedTuple):
    base: str
    tip: str
    files: tuple[ChangedFile, ...] = ()
    patch: str = ""
    cut: bool = False


async def commits_of(repository: Repository, workspace: str) -> tuple[str, str] | None:
    """Where a workspace's work began and how far it is; None if nothing has come home."""
    found = [
        (await repository.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")).out
        for ref in (repository.own.base(workspace), repository.own.tip(workspace))
    ]
    base, tip = (name.decode("ascii", "replace").strip() for name in found)
    return (base, tip) if base and tip else None


async def shown_diff(repository: Repository, base: str, tip: str) -> Shown:
    """Raises GitError when git can't compare them."""
    assert is_commit_name(base), base
    between = (base, tip, "--")
    counts = await repository.output("diff", *_PLAINLY, "--numstat", "-z", *between)
    kinds = await repository.output("diff", *_PLAINLY, "--name-status", "-z", *between)
    patch = await repository.output("diff", *_PLAINLY, *between)
    text = shared_out(patch, LONGEST_PATCH).decode(errors="replace")
    files = tuple(_files(counts, dict(_kinds(kinds))))
    return Shown(base, tip, files, text, cut=len(patch) > LONGEST_PATCH)


def shared_out(patch: bytes, most: int) -> bytes:
    """No file takes the room of others: the longest are cut, each at the end of a line."""
    if len(patch) <= most:
        return patch
    files = [_BEGINS + each for each in (b"\n" + patch).split(b"\n" + _BEGINS)[1:]]
    room = most
    by_length = sorted(range(len(files)), key=lambda at: len(files[at]))
    for place, at in enumerate(by_length):
        files[at] = _head(files[at], room // (len(files) - place) - 1)
        room -= len(files[at]) + 1
    return b"\n".join(filter(None, files))


def _head(file: bytes, most: int) -> bytes:
    return file if len(file) <= most else file[: max(0, file.rfind(b"\n", 0, max(0, most)))]


def _files(counts: bytes, kinds: dict[str, str]) -> Iterator[ChangedFile]:
    """`added TAB removed TAB path NUL`; of a renamed file the path is empty and two follow."""
    fields = iter(counts.decode(errors="replace").split("\0"))
    for field in fields:
        if not field:
            continue
        added, removed, path = field.split("\t", 2)
        if not path:
            next(fields)
            path = next(fields)
        yield ChangedFile(path, kinds.get(path, "changed"), _number(added), _number(removed))


def _kinds(status: bytes) -> Iterator[tuple[str, str]]:
    fields = iter(status.decode(errors="replace").split("\0"))
    for field in fields:
        if not field:
            continue
        path = next(fields)
        if field[0] in "RC":
            path = next(fields)
        yield path, _CHANGES.get(field[0], "changed")


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
