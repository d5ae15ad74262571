"""Moves a branch to a commit made for it, and updates the user's clean checkout of it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import anyio

from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import branch_ref, is_commit_name
from allstop.core.moves import Failed, FailureKind, Landed

IN_PROGRESS = {
    "MERGE_HEAD": "a merge is in progress",
    "CHERRY_PICK_HEAD": "a cherry-pick is in progress",
    "REVERT_HEAD": "a revert is in progress",
    "rebase-merge": "a rebase is in progress",
    "rebase-apply": "a rebase is in progress",
    "BISECT_LOG": "a bisect is in progress",
}
BRANCH_FILES = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
MAX_NAMED = 5


class Checkout(NamedTuple):
    path: Path
    git_dir: Path
    head: str
    dirty: tuple[str, ...] | None = None  # files with changes; None if not checked yet


async def land(repository: Repository, target: str, tip: str, commit: str) -> Landed | Failed:
    """Move the branch if it is still at `tip`. Safe to repeat after a crash.

    Raises GitError if the branch or the commit doesn't exist, or git can't write.
    """
    ref = branch_ref(target)
    found = await checkouts(repository, ref) if ref else []
    current = found[0].head if found else await repository.branch(target)
    if ref is None or current is None:
        raise GitError(f"branch {target!r} doesn't exist", code="branch_missing")
    if current != tip or commit == tip:
        if current == commit or await repository.is_ancestor(commit, current):
            return Landed(commit=commit)
        return moved(ref, current, tip)
    if in_use := await _in_use(repository, ref):
        return _failed(FailureKind.BUSY, in_use)
    if len(found) > 1:
        paths = " and ".join(str(checkout.path) for checkout in found)
        return _failed(FailureKind.BUSY, f"{target} is checked out in {paths}")
    landed: Landed | Failed
    with anyio.CancelScope(shield=True):  # interrupted, it would leave the user's tree half changed
        if found:
            landed = await _move_with_checkout(repository, found[0], ref, tip, commit)
        else:
            landed = await _move(repository, ref, tip, commit)
    return landed


async def _move(repository: Repository, ref: str, tip: str, commit: str) -> Landed | Failed:
    if await repository.is_ancestor(commit, tip):
        return Landed(commit=commit)
    if not await repository.is_ancestor(tip, commit):
        raise GitError(f"{commit} isn't a descendant of {tip}", code="not_a_descendant")
    done = await repository.run("update-ref", "-m", "allstop: merge", ref, commit, tip)
    if done.code == 0:
        return Landed(commit=commit)
    current = await repository.commit(ref)
    if current != tip:
        return moved(ref, current, tip)
    locked = _find_lock(await repository.common_dir() / ref)
    return _failed(FailureKind.BUSY, f"{repository.root}: {locked or done.stderr}")


async def _move_with_checkout(
    repository: Repository, checkout: Checkout, ref: str, tip: str, commit: str
) -> Landed | Failed:
    """Move the branch and its checkout with one `git merge --ff-only`."""
    obstacle = await _find_obstacle(repository, checkout, ref, commit)
    if obstacle is _HALF_LANDED:
        return await _move(repository, ref, tip, commit)
    if obstacle:
        return _failed(FailureKind.BUSY, f"{checkout.path}: {obstacle}")
    done = await repository.run(
        "merge", "-q", "--ff-only", "--no-overwrite-ignore", "--no-stat", commit, cwd=checkout.path
    )
    current = await repository.commit(ref)
    if done.code == 0 and current == commit:
        return Landed(commit=commit)
    if current != tip:
        return moved(ref, current, tip)
    if done.code == 0:
        return await _move(repository, ref, tip, commit)
    return _failed(FailureKind.BUSY, f"{checkout.path}: {done.stderr or 'git could not update it'}")


_HALF_LANDED = "the tree is updated already"


async def _find_obstacle(repository: Repository, checkout: Checkout, ref: str, commit: str) -> str:
    common = await repository.common_dir()
    if locked := _find_lock(checkout.git_dir / "index", checkout.git_dir / "HEAD", common / ref):
        return locked
    for name, meaning in IN_PROGRESS.items():
        if (checkout.git_dir / name).exists():
            return f"{meaning} ({checkout.git_dir / name})"
    dirty = checkout.dirty
    if dirty is None:
        done = await repository.run(*STATUS, cwd=checkout.path)
        if done.code != 0:
            return done.stderr
        dirty = _parse_status(done.out).dirty
    if not dirty:
        return ""
    if await _has_landed(repository, checkout, commit):
        return _HALF_LANDED
    names = ", ".join(dirty[:MAX_NAMED]) + (
        f" and {len(dirty) - MAX_NAMED} more" if dirty[MAX_NAMED:] else ""
    )
    return f"it has uncommitted changes: {os.fsencode(names).decode(errors='replace')}"


def _find_lock(*files: Path) -> str:
    """Name an existing lock file; git's own message is too long to show."""
    for file in files:
        lock = file.with_name(f"{file.name}.lock")
        if lock.exists():
            return (
                f"another git command is running or was killed; if none is running, remove {lock}"
            )
    return ""


async def _has_landed(repository: Repository, checkout: Checkout, commit: str) -> bool:
    """Whether git was killed after it changed the tree and before it moved the branch."""
    index = await repository.run(
        "diff-index", "--cached", "--quiet", commit, "--", cwd=checkout.path
    )
    files = await repository.run("diff-files", "--quiet", cwd=checkout.path)
    return index.code == 0 and files.code == 0


async def checkouts(repository: Repository, ref: str) -> list[Checkout]:
    """Return the checkouts of the branch: the main work tree and linked ones.

    Without linked work trees, `git status` answers this too and says which files are dirty.
    """
    common = await repository.common_dir()
    if not _has_linked(common):
        done = await repository.run(*STATUS)
        status = _parse_status(done.out)
        if done.code == 0 and status.branch != DETACHED:
            checkout = Checkout(repository.root, common, status.commit, status.dirty)
            return [checkout] if f"refs/heads/{status.branch}" == ref and status.commit else []
    out = await repository.output("worktree", "list", "--porcelain", "-z")
    return list(_parse_worktrees(out, os.fsencode(ref)))


def _has_linked(common: Path) -> bool:
    linked = common / "worktrees"
    return linked.is_dir() and any(linked.iterdir())


STATUS = (
    "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "--untracked-files=no",
    "--ignore-submodules=dirty", "--no-renames",
)  # fmt: skip
DETACHED = "(detached)"
"""Git's word for a detached HEAD; a branch can have that name too."""

FIELDS_BEFORE_PATH = {b"1": 8, b"u": 10}


class _Status(NamedTuple):
    branch: str
    commit: str  # "" before the first commit
    dirty: tuple[str, ...]


def _parse_status(out: bytes) -> _Status:
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


def _parse_worktrees(out: bytes, ref: bytes) -> Iterator[Checkout]:
    for block in out.split(b"\0\0"):
        words = dict(line.partition(b" ")[::2] for line in block.split(b"\0") if line)
        path = Path(os.fsdecode(words.get(b"worktree", b"")))
        if words.get(b"branch") == ref and path.is_dir():
            yield Checkout(path, _git_dir(path), words[b"HEAD"].decode())


def _git_dir(path: Path) -> Path:
    git = path / ".git"
    if git.is_file():
        text = os.fsdecode(git.read_bytes()).removeprefix("gitdir:").strip()
        return Path(os.path.normpath(path / text))
    return git if git.is_dir() else path


async def _in_use(repository: Repository, ref: str) -> str:
    """Say if a rebase or a bisect of this branch is under way: HEAD is detached until it ends."""
    for file in _state_files(await repository.common_dir()):
        try:
            text = file.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if text in (ref, ref.removeprefix("refs/heads/")):
            return f"{file.parent}: {ref} is being rebased or bisected"
    return ""


def _state_files(common: Path) -> Iterator[Path]:
    linked = common / "worktrees"
    for folder in (common, *(linked.iterdir() if linked.is_dir() else ())):
        yield from (folder / name for name in BRANCH_FILES)


def moved(ref: str, current: str | None, tip: str) -> Failed:
    branch = ref.removeprefix("refs/heads/")
    return _failed(FailureKind.MOVED, f"{branch} has moved from {tip} to {current}")


def _failed(kind: FailureKind, message: str) -> Failed:
    return Failed(kind=kind, message=message)
