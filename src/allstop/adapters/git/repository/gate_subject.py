"""What is looked at when work is checked: a commit, and the one whose changes it has to answer for."""

from __future__ import annotations

from allstop.adapters.git.repository.merge_commits import NEAR
from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import branch_ref
from allstop.core.moves import Failed, FailureKind
from allstop.ports import Subject


async def of_merge(repository: Repository, commit: str) -> Subject:
    """A commit made for a branch, which is its first parent.

    Raises:
        GitError: there is no such commit.
    """
    named = await repository.commit(commit)
    if named is None:
        raise GitError(f"there is no commit {commit!r} to check")
    parent, tree = await repository.named(f"{named}^1^{{commit}}", f"{named}^{{tree}}")
    return Subject(parent or named, named, tree or "")


async def of_work(repository: Repository, workspace: str, work: str, target: str) -> Subject:
    """Work since it left the target's line; without that branch, since it began.

    Raises:
        GitError: nobody knows where it began.
    """
    first = repository.own.base(workspace)
    tree, tip, began, *before = await repository.named(
        f"{work}^{{tree}}",
        f"{branch_ref(target) or first}^{{commit}}",
        first,
        *(f"{work}~{steps}" for steps in range(NEAR + 1)),
    )
    line = tip or began
    if line is None:
        raise GitError(f"nothing is known of where {workspace!r} began")
    if line not in before:  # else it follows the tip, and to start a git costs more than to ask
        done = await repository.run("merge-base", line, work)
        line = done.out.decode().strip() or line
    return Subject(line, work, tree or "")


async def moved(repository: Repository, work: Subject, branch: str) -> Failed | None:
    """Where this branch is by now, if the work has not all of it."""
    tip = await repository.branch(branch) if branch else None
    if tip is None or tip == work.base:
        return None
    return Failed(kind=FailureKind.MOVED, message=f"{branch} is at {tip[:10]} by now")
