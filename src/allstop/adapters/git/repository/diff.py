"""The diff between two commits of the user's repository, for people to read."""

from collections.abc import Iterator
from typing import NamedTuple

from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import is_commit_name

LONGEST_PATCH = 400_000

_FILE_HEADER = b"diff --git "
_PLAIN_OUTPUT = ("--no-ext-diff", "--no-textconv", "--no-color", "-M")
_CHANGES = {"A": "added", "D": "removed", "R": "renamed"}


class ChangedFile(NamedTuple):
    path: str
    change: str  # added, changed, removed, renamed
    added: int | None  # lines; None for a binary file
    removed: int | None


class Diff(NamedTuple):
    base: str
    tip: str
    files: tuple[ChangedFile, ...] = ()
    patch: str = ""
    cut: bool = False


async def base_and_tip(repository: Repository, workspace: str) -> tuple[str, str] | None:
    """Return the base and the tip of a workspace's work; None if no work was fetched."""
    found = [
        (await repository.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")).out
        for ref in (repository.own.base(workspace), repository.own.tip(workspace))
    ]
    base, tip = (name.decode("ascii", "replace").strip() for name in found)
    return (base, tip) if base and tip else None


async def read_diff(repository: Repository, base: str, tip: str) -> Diff:
    """Return the changed files and the patch.

    Raises GitError if git can't compare the two commits.
    """
    assert is_commit_name(base), base
    between = (base, tip, "--")
    counts = await repository.output("diff", *_PLAIN_OUTPUT, "--numstat", "-z", *between)
    kinds = await repository.output("diff", *_PLAIN_OUTPUT, "--name-status", "-z", *between)
    patch = await repository.output("diff", *_PLAIN_OUTPUT, *between)
    text = shorten_patch(patch, LONGEST_PATCH).decode(errors="replace")
    files = tuple(_files(counts, dict(_kinds(kinds))))
    return Diff(base, tip, files, text, cut=len(patch) > LONGEST_PATCH)


def shorten_patch(patch: bytes, most: int) -> bytes:
    """Shorten a patch to `most` bytes by cutting the longest files, each at the end of a line."""
    if len(patch) <= most:
        return patch
    files = [_FILE_HEADER + each for each in (b"\n" + patch).split(b"\n" + _FILE_HEADER)[1:]]
    left_bytes = most
    by_length = sorted(range(len(files)), key=lambda at: len(files[at]))
    for position, at in enumerate(by_length):
        files[at] = _head(files[at], left_bytes // (len(files) - position) - 1)
        left_bytes -= len(files[at]) + 1
    return b"\n".join(filter(None, files))


def _head(file: bytes, most: int) -> bytes:
    return file if len(file) <= most else file[: max(0, file.rfind(b"\n", 0, max(0, most)))]


def _files(counts: bytes, kinds: dict[str, str]) -> Iterator[ChangedFile]:
    """Parse `added TAB removed TAB path NUL`.

    A renamed file has an empty path, and two paths follow.
    """
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
