"""The commit that the gate checks, and the base commit that its changes are compared with."""

from allstop.adapters.git.repository.merge_commits import SEARCHED_ANCESTORS
from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import branch_ref
from allstop.core.moves import Failed, FailureKind
from allstop.ports import Subject


async def of_merge(repository: Repository, commit: str, base: str = "") -> Subject:
    """Return a merge commit with its base: by default its first parent, the tip of the branch.

    Raises GitError if the commit doesn't exist.
    """
    named = await repository.commit(commit)
    if named is None:
        raise GitError(f"commit {commit!r} doesn't exist", code="commit_missing")
    before = f"{base or f'{named}^1'}^{{commit}}"
    parent, tree = await repository.resolve(before, f"{named}^{{tree}}")
    return Subject(parent or named, named, tree or "")


async def of_work(repository: Repository, workspace: str, work: str, target: str) -> Subject:
    """Return the work with the commit where it left the target branch, or else where it started.

    Raises GitError if the starting commit is unknown.
    """
    first = repository.own.base(workspace)
    tree, tip, began, *before = await repository.resolve(
        f"{work}^{{tree}}",
        f"{branch_ref(target) or first}^{{commit}}",
        first,
        *(f"{work}~{steps}" for steps in range(SEARCHED_ANCESTORS + 1)),
    )
    line = tip or began
    if line is None:
        raise GitError(f"the base commit of {workspace!r} is unknown", code="base_missing")
    if line not in before:  # if it is, the work follows the tip and no merge base is needed
        done = await repository.run("merge-base", line, work)
        line = done.out.decode().strip() or line
    return Subject(line, work, tree or "")


async def moved(repository: Repository, work: Subject, branch: str) -> Failed | None:
    """Return MOVED with the branch's tip if the work doesn't contain that tip."""
    tip = await repository.branch(branch) if branch else None
    if tip is None or tip == work.base:
        return None
    return Failed(kind=FailureKind.MOVED, message=f"{branch} has moved to {tip[:10]}")
