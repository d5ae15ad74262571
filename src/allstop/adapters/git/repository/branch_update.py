"""Moving a branch to a commit made for it, and the user's clean checkout along."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import anyio

from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import branch_ref, is_commit_name
from allstop.core.moves import Failed, FailureKind, Landed

UNDER_WAY = {
    "MERGE_HEAD": "a merge is in progress",
    "CHERRY_PICK_HEAD": "a cherry-pick is in progress",
    "REVERT_HEAD": "a revert is in progress",
    "rebase-merge": "a rebase is in progress",
    "rebase-apply": "a rebase is in progress",
    "BISECT_LOG": "a bisect is in progress",
}
ON_BRANCH = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
NAMED = 5


class Checkout(NamedTuple):
    path: Path
    git_dir: Path
    head: str
    dirty: tuple[str, ...] | None = None  # files with changes; None where nobody has looked


async def land(repository: Repository, target: str, tip: str, commit: str) -> Landed | Failed:
    """Look before doing: whatever was killed, doing it again is right.

    Raises:
        GitError: the branch or the commit isn't there, or git can't write.
    """
    ref = branch_ref(target)
    places = await checkouts(repository, ref) if ref else []
    there = places[0].head if places else await repository.branch(target)
    if ref is None or there is None:
        raise GitError(f"there is no branch {target!r}")
    if there != tip or commit == tip:
        if there == commit or await repository.is_ancestor(commit, there):
            return Landed(commit=commit)
        return _moved(ref, there, tip)
    if in_use := await _in_use(repository, ref):
        return _failed(FailureKind.BUSY, in_use)
    if len(places) > 1:
        paths = " and ".join(str(place.path) for place in places)
        return _failed(FailureKind.BUSY, f"{target} is checked out in {paths}")
    landed: Landed | Failed
    with anyio.CancelScope(shield=True):  # cut off, it would leave somebody's tree half changed
        if places:
            landed = await _move_along(repository, places[0], ref, tip, commit)
        else:
            landed = await _move(repository, ref, tip, commit)
    return landed


async def _move(repository: Repository, ref: str, tip: str, commit: str) -> Landed | Failed:
    if await repository.is_ancestor(commit, tip):
        return Landed(commit=commit)
    if not await repository.is_ancestor(tip, commit):
        raise GitError(f"{commit} does not follow {tip}")
    done = await repository.run("update-ref", "-m", "allstop: merge", ref, commit, tip)
    if done.code == 0:
        return Landed(commit=commit)
    there = await repository.commit(ref)
    if there != tip:
        return _moved(ref, there, tip)
    locked = _locked(await repository.common_dir() / ref)
    return _failed(FailureKind.BUSY, f"{repository.root}: {locked or done.said}")


async def _move_along(
    repository: Repository, place: Checkout, ref: str, tip: str, commit: str
) -> Landed | Failed:
    """The checkout and its branch, in one command of git's."""
    what = await _in_the_way(repository, place, ref, commit)
    if what is _HALF_LANDED:
        return await _move(repository, ref, tip, commit)
    if what:
        return _failed(FailureKind.BUSY, f"{place.path}: {what}")
    done = await repository.run(
        "merge", "-q", "--ff-only", "--no-overwrite-ignore", "--no-stat", commit, cwd=place.path
    )
    there = await repository.commit(ref)
    if done.code == 0 and there == commit:
        return Landed(commit=commit)
    if there != tip:
        return _moved(ref, there, tip)
    if done.code == 0:
        return await _move(repository, ref, tip, commit)
    return _failed(FailureKind.BUSY, f"{place.path}: {done.said or 'git could not move it along'}")


_HALF_LANDED = "the tree is there already"


async def _in_the_way(repository: Repository, place: Checkout, ref: str, commit: str) -> str:
    common = await repository.common_dir()
    if locked := _locked(place.git_dir / "index", place.git_dir / "HEAD", common / ref):
        return locked
    for name, meaning in UNDER_WAY.items():
        if (place.git_dir / name).exists():
            return f"{meaning} ({place.git_dir / name})"
    dirty = place.dirty
    if dirty is None:
        done = await repository.run(*STATUS, cwd=place.path)
        if done.code != 0:
            return done.said
        dirty = _told(done.out).dirty
    if not dirty:
        return ""
    if await _has_landed_here(repository, place, commit):
        return _HALF_LANDED
    names = ", ".join(dirty[:NAMED]) + (f" and {len(dirty) - NAMED} more" if dirty[NAMED:] else "")
    return f"it has uncommitted changes: {os.fsencode(names).decode(errors='replace')}"


def _locked(*files: Path) -> str:
    """Git says it at more length than fits where it is shown."""
    for file in files:
        lock = file.with_name(f"{file.name}.lock")
        if lock.exists():
            return f"another git command is at work, or was killed; if none is, remove {lock}"
    return ""


async def _has_landed_here(repository: Repository, place: Checkout, commit: str) -> bool:
    """Git was killed after it had changed the tree, and before it moved the branch."""
    index = await repository.run("diff-index", "--cached", "--quiet", commit, "--", cwd=place.path)
    files = await repository.run("diff-files", "--quiet", cwd=place.path)
    return index.code == 0 and files.code == 0


async def checkouts(repository: Repository, ref: str) -> list[Checkout]:
    """Where the branch is checked out: in the user's main tree, in linked ones, or nowhere.

    Where there are no linked ones, what the only one has says this too.
    """
    common = await repository.common_dir()
    if not _has_linked(common):
        done = await repository.run(*STATUS)
        told = _told(done.out)
        if done.code == 0 and told.branch != UNSURE:
            place = Checkout(repository.root, common, told.commit, told.dirty)
            return [place] if f"refs/heads/{told.branch}" == ref and told.commit else []
    out = await repository.output("worktree", "list", "--porcelain", "-z")
    return list(_parsed(out, os.fsencode(ref)))


def _has_linked(common: Path) -> bool:
    linked = common / "worktrees"
    return linked.is_dir() and any(linked.iterdir())


STATUS = (
    "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "--untracked-files=no",
    "--ignore-submodules=dirty", "--no-renames",
)  # fmt: skip
UNSURE = "(detached)"
"""What git says where HEAD is on no branch; but a branch can be called that too."""

FIELDS_BEFORE_PATH = {b"1": 8, b"u": 10}


class _Status(NamedTuple):
    branch: str
    commit: str  # none where there is none yet
    dirty: tuple[str, ...]


def _told(out: bytes) -> _Status:
    heads: dict[bytes, bytes] = {}
    dirty: list[str] = []
    for entry in filter(None, out.split(b"\0")):
        if entry.startswith(b"# "):
            name, _, value = entry[2:].partition(b" ")
            heads[name] = value
        else:
            dirty.append(os.fsdecode(entry.split(b" ", FIELDS_BEFORE_PATH[entry[:1]])[-1]))
    commit = heads.get(b"branch.oid", b"").decode()
    return _Status(
        os.fsdecode(heads.get(b"branch.head", b"")),
        commit if is_commit_name(commit) else "",
        tuple(dirty),
    )


def _parsed(out: bytes, ref: bytes) -> Iterator[Checkout]:
    for block in out.split(b"\0\0"):
        words = dict(line.partition(b" ")[::2] for line in block.split(b"\0") if line)
        path = Path(os.fsdecode(words.get(b"worktree", b"")))
        if words.get(b"branch") == ref and path.is_dir():
            yield Checkout(path, _git_dir(path), words[b"HEAD"].decode())


def _git_dir(path: Path) -> Path:
    git = path / ".git"
    if git.is_file():
        said = os.fsdecode(git.read_bytes()).removeprefix("gitdir:").strip()
        return Path(os.path.normpath(path / said))
    return git if git.is_dir() else path


async def _in_use(repository: Repository, ref: str) -> str:
    """A rebase or a bisect of this branch takes HEAD off it, and comes back to it."""
    for file in _state_files(await repository.common_dir()):
        try:
            said = file.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if said in (ref, ref.removeprefix("refs/heads/")):
            return f"{file.parent}: {ref} is being rebased or bisected there"
    return ""


def _state_files(common: Path) -> Iterator[Path]:
    linked = common / "worktrees"
    for folder in (common, *(linked.iterdir() if linked.is_dir() else ())):
        yield from (folder / name for name in ON_BRANCH)


def _moved(ref: str, there: str | None, tip: str) -> Failed:
    branch = ref.removeprefix("refs/heads/")
    return _failed(FailureKind.MOVED, f"{branch} is at {there} and no longer at {tip}")


def _failed(kind: FailureKind, message: str) -> Failed:
    return Failed(kind=kind, message=message)
