"""Makes merge and revert commits from git objects, without touching a tree or a branch."""

import os
import re
from typing import NamedTuple

from allstop.adapters.git.repository.change_report import make_commit
from allstop.adapters.git.repository.git_command import REPOSITORY_SETTINGS_ONLY
from allstop.adapters.git.repository.repository import (
    GitError,
    Repository,
    git_error,
    git_version,
    require_merge_tree,
)
from allstop.adapters.git.repository.safe_names import branch_ref, folder_name, revert_ref
from allstop.core.moves import Failed, FailureKind, Integrated
from allstop.gather import both

SETTINGS_FILE = "allstop.toml"

SEARCHED_ANCESTORS = 8
"""How many ancestors of the work are searched for the branch's tip."""

_TRAILERS = re.compile(r"([A-Za-z0-9-]+: .+(\n|$))+")


class MergedTree(NamedTuple):
    tree: str
    conflicts: tuple[str, ...]


async def integrate(
    repository: Repository, workspace: str, target: str, message: str, *, onto: str = ""
) -> Integrated | Failed | None:
    """Merge a workspace's fetched work with the tip of `target`; None if no work was fetched.

    With `onto`, that commit takes the place of the tip.

    Raises GitError if the branch doesn't exist, or git fails.
    """
    ref = onto or branch_ref(target)
    if ref is None:
        raise GitError(f"branch {target!r} doesn't exist", code="branch_missing")
    own = repository.own
    kept = own.tip(workspace)
    tip, tree, work, its_tree, base, *before = await repository.resolve(
        *(f"{ref}^{{commit}}", f"{ref}^{{tree}}", f"{kept}^{{commit}}", f"{kept}^{{tree}}"),
        own.base(workspace),
        *(f"{kept}~{steps}" for steps in range(1, SEARCHED_ANCESTORS + 1)),
    )
    if tip is None:
        raise GitError(f"branch {target!r} doesn't exist", code="branch_missing")
    if work is None:
        return None
    if tip in before and its_tree is not None:
        merged = MergedTree(its_tree, ())  # the work follows the tip: nothing to merge
    else:
        theirs = await _commit_to_merge(repository, base, tip, work)
        merged = await merge_trees(repository, tip, theirs)
    if merged.conflicts:
        return _conflict(merged, target, tip)
    if merged.tree == tree and tip not in before and await repository.is_ancestor(work, tip):
        return Integrated(tip=tip, commit=tip, tree=merged.tree)
    text = with_trailer(message, f"Allstop-Task: {folder_name(workspace)}")
    commit = await make_commit(repository, merged.tree, (tip, work), text)
    _, (before_it, after_it) = await both(
        repository.set_refs(f"update {own.merge(workspace)} {commit}"),
        repository.resolve(f"{tip}:{SETTINGS_FILE}", f"{commit}:{SETTINGS_FILE}"),
    )
    return Integrated(tip=tip, commit=commit, tree=merged.tree, sets_rules=before_it != after_it)


async def revert(
    repository: Repository, commit: str, target: str, message: str
) -> Integrated | Failed:
    """Make a commit that undoes the merge `commit` on `target`.

    The undo is a merge with a commit that has the tree of the first parent and follows `commit`.

    Raises GitError if the commit or the branch doesn't exist.
    """
    tip, merge = await repository.branch(target), await repository.commit(commit)
    if tip is None or merge is None:
        kind, name = ("branch", target) if tip is None else ("commit", commit)
        raise GitError(f"{kind} {name!r} doesn't exist", code=f"{kind}_missing")
    before, after = await repository.resolve(f"{merge}^1^{{tree}}", f"{tip}^{{tree}}")
    if before is None:
        raise GitError(f"{merge} is the first commit and can't be reverted", code="first_commit")
    if not await repository.is_ancestor(merge, tip):
        return await _unchanged(repository, tip)
    undone = await make_commit(repository, before, (merge,), "Before")
    merged = await merge_trees(repository, tip, undone)
    if merged.conflicts:
        return _conflict(merged, target, tip)
    if merged.tree == after:
        return await _unchanged(repository, tip)
    text = with_trailer(message, f"Allstop-Reverts: {merge}")
    made = await make_commit(repository, merged.tree, (tip,), text)
    await repository.set_refs(f"update {revert_ref(merge)} {made}")
    return Integrated(tip=tip, commit=made, tree=merged.tree)


async def _commit_to_merge(repository: Repository, base: str | None, tip: str, work: str) -> str:
    """Return the work; if the target reverted an earlier part, all of it as one commit on its base.

    Git regards the work's commits as merged while they are in the tip's history, even if their
    changes were reverted since.
    """
    shared = (await repository.run("merge-base", tip, work)).out.decode().strip()
    if base is None or shared in ("", base) or not await repository.is_ancestor(base, shared):
        return work
    if await _tree_without(repository, tip, base, shared) != await _tree_of(repository, tip):
        return work
    return await make_commit(repository, await _tree_of(repository, work), (base,), "Work")


async def _tree_without(repository: Repository, tip: str, before: str, after: str) -> str:
    """Return the tip's tree without the changes between two of its commits; "" with conflicts.

    The undo is a merge with a commit that has the earlier tree and follows the later commit.
    """
    undone = await make_commit(repository, await _tree_of(repository, before), (after,), "Before")
    merged = await merge_trees(repository, tip, undone)
    return "" if merged.conflicts else merged.tree


async def _tree_of(repository: Repository, commit: str) -> str:
    (tree,) = await repository.resolve(f"{commit}^{{tree}}")
    assert tree is not None, "a commit has a tree"
    return tree


async def merge_trees(repository: Repository, ours: str, theirs: str) -> MergedTree:
    """Raises GitError if git is too old, or the commits have no common ancestor."""
    require_merge_tree(git_version())
    done = await repository.run(
        "-c", "safe.directory=*", "-c", "core.attributesFile=/dev/null",
        "-c", "merge.renames=true", "merge-tree", "--write-tree", "-z", "--name-only",
        "--no-messages", ours, theirs,
        env=REPOSITORY_SETTINGS_ONLY,
    )  # fmt: skip
    if done.code not in (0, 1):
        raise git_error("merge-tree", done)
    tree, *names = [os.fsdecode(field) for field in done.out.split(b"\0") if field]
    return MergedTree(tree.strip(), tuple(dict.fromkeys(names)) if done.code == 1 else ())


def with_trailer(message: str, trailer: str) -> str:
    """Append a trailer to the message's trailers, or as a last paragraph."""
    text = message.strip()
    _, gap, last = text.rpartition("\n\n")
    joint = "\n" if gap and _TRAILERS.fullmatch(last) else "\n\n"
    return f"{text}{joint}{trailer}\n" if text else f"{trailer}\n"


async def _unchanged(repository: Repository, tip: str) -> Integrated:
    return Integrated(tip=tip, commit=tip, tree=await _tree_of(repository, tip))


def _conflict(merged: MergedTree, target: str, tip: str) -> Failed:
    names = "\n".join(os.fsencode(name).decode(errors="replace") for name in merged.conflicts)
    message = f"{names}\nwith {target} at {tip[:10]}"
    return Failed(kind=FailureKind.CONFLICT, message=message)
