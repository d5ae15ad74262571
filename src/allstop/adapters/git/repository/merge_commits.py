"""Merges and their opposite, made of objects only: no tree is touched and no branch moved."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from allstop.adapters.git.repository.change_report import make_commit
from allstop.adapters.git.repository.git_command import REPOSITORY_SETTINGS_ONLY
from allstop.adapters.git.repository.repository import (
    GitError,
    Repository,
    git_version,
    need_merge_tree,
    refused,
)
from allstop.adapters.git.repository.safe_names import branch_ref, folder_name, revert_ref
from allstop.core.moves import Failed, FailureKind, Integrated

NEAR = 8
"""So many commits before the work are looked at for the branch's tip."""

_TRAILERS = re.compile(r"([A-Za-z0-9-]+: .+(\n|$))+")


class Merged(NamedTuple):
    tree: str
    conflicts: tuple[str, ...]


async def integrate(
    repository: Repository, workspace: str, target: str, message: str
) -> Integrated | Failed | None:
    """Merge what was brought home of a workspace with the tip of `target`; None where nothing was.

    Raises:
        GitError: there is no such branch, or git can't.
    """
    ref = branch_ref(target)
    if ref is None:
        raise GitError(f"there is no branch {target!r} to merge into")
    own = repository.own
    kept = own.tip(workspace)
    tip, tree, work, its_tree, base, *before = await repository.named(
        *(f"{ref}^{{commit}}", f"{ref}^{{tree}}", f"{kept}^{{commit}}", f"{kept}^{{tree}}"),
        own.base(workspace),
        *(f"{kept}~{steps}" for steps in range(1, NEAR + 1)),
    )
    if tip is None:
        raise GitError(f"there is no branch {target!r} to merge into")
    if work is None:
        return None
    if tip in before and its_tree is not None:
        merged = Merged(its_tree, ())  # it follows the tip: there is nothing to merge it with
    else:
        theirs = await _to_merge(repository, base, tip, work)
        merged = await merge_trees(repository, tip, theirs)
    if merged.conflicts:
        return _conflict(merged, target, tip)
    if merged.tree == tree and tip not in before and await repository.is_ancestor(work, tip):
        return Integrated(tip=tip, commit=tip, tree=merged.tree)
    text = with_trailer(message, f"Allstop-Task: {folder_name(workspace)}")
    commit = await make_commit(repository, merged.tree, (tip, work), text)
    await repository.set_refs(f"update {own.merge(workspace)} {commit}")
    return Integrated(tip=tip, commit=commit, tree=merged.tree)


async def revert(
    repository: Repository, commit: str, target: str, message: str
) -> Integrated | Failed:
    """Make a commit that takes `commit`, and with it what it merged, out of `target` again.

    The opposite of a merge is the merge of its first parent's tree, seen as a step after it.

    Raises:
        GitError: there is no such commit or branch.
    """
    tip, merge = await repository.branch(target), await repository.commit(commit)
    if tip is None or merge is None:
        raise GitError(f"there is no {'branch ' + repr(target) if tip is None else commit!r}")
    before, after = await repository.named(f"{merge}^1^{{tree}}", f"{tip}^{{tree}}")
    if before is None:
        raise GitError(f"{merge} is the first commit: there is nothing before it")
    if not await repository.is_ancestor(merge, tip):
        return await _nothing_left(repository, tip)
    undone = await make_commit(repository, before, (merge,), "Before")
    merged = await merge_trees(repository, tip, undone)
    if merged.conflicts:
        return _conflict(merged, target, tip)
    if merged.tree == after:
        return await _nothing_left(repository, tip)
    text = with_trailer(message, f"Allstop-Reverts: {merge}")
    made = await make_commit(repository, merged.tree, (tip,), text)
    await repository.set_refs(f"update {revert_ref(merge)} {made}")
    return Integrated(tip=tip, commit=made, tree=merged.tree)


async def _to_merge(repository: Repository, base: str | None, tip: str, work: str) -> str:
    """The work; all of it as one step from its base, where what the tip has of it was taken out.

    Git takes the work's commits for merged as long as they are in the tip's history, whatever
    became of their changes since.
    """
    shared = (await repository.run("merge-base", tip, work)).out.decode().strip()
    if base is None or shared in ("", base) or not await repository.is_ancestor(base, shared):
        return work
    if await _without(repository, tip, base, shared) != await _tree_of(repository, tip):
        return work
    return await make_commit(repository, await _tree_of(repository, work), (base,), "Work")


async def _without(repository: Repository, tip: str, before: str, after: str) -> str:
    """The tip's tree without what was changed between two commits of its; "" with conflicts.

    The opposite of a change is the merge of the tree before it, seen as a step after it.
    """
    undone = await make_commit(repository, await _tree_of(repository, before), (after,), "Before")
    merged = await merge_trees(repository, tip, undone)
    return "" if merged.conflicts else merged.tree


async def _tree_of(repository: Repository, commit: str) -> str:
    (tree,) = await repository.named(f"{commit}^{{tree}}")
    assert tree is not None, "a commit has a tree"
    return tree


async def merge_trees(repository: Repository, ours: str, theirs: str) -> Merged:
    """
    Raises:
        GitError: git is too old, or the two have nothing in common.
    """
    need_merge_tree(git_version())
    done = await repository.run(
        "-c", "safe.directory=*", "-c", "core.attributesFile=/dev/null",
        "-c", "merge.renames=true", "merge-tree", "--write-tree", "-z", "--name-only",
        "--no-messages", ours, theirs,
        env=REPOSITORY_SETTINGS_ONLY,
    )  # fmt: skip
    if done.code not in (0, 1):
        raise refused("merge-tree", done)
    tree, *names = [os.fsdecode(field) for field in done.out.split(b"\0") if field]
    return Merged(tree.strip(), tuple(dict.fromkeys(names)) if done.code == 1 else ())


def with_trailer(message: str, trailer: str) -> str:
    """A message that ends in trailers gets one more; another a last paragraph."""
    text = message.strip()
    _, gap, last = text.rpartition("\n\n")
    joint = "\n" if gap and _TRAILERS.fullmatch(last) else "\n\n"
    return f"{text}{joint}{trailer}\n" if text else f"{trailer}\n"


async def _nothing_left(repository: Repository, tip: str) -> Integrated:
    return Integrated(tip=tip, commit=tip, tree=await _tree_of(repository, tip))


def _conflict(merged: Merged, target: str, tip: str) -> Failed:
    names = "\n".join(os.fsencode(name).decode(errors="replace") for name in merged.conflicts)
    message = f"{names}\nwith {target} at {tip[:10]}"
    return Failed(kind=FailureKind.CONFLICT, message=message)
