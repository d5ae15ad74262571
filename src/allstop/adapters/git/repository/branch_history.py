"""The commits that a branch has gained since an earlier commit."""

import os
from typing import NamedTuple

from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.git.repository.safe_names import branch_ref


class BranchCommit(NamedTuple):
    commit: str
    subject: str


async def commits_on_top(repository: Repository, branch: str, since: str) -> list[BranchCommit]:
    """The branch's own commits after `since`, the newest first; merged commits are one each.

    Raises GitError if the branch or the commit doesn't exist, or isn't in its history any more.
    """
    ref = branch_ref(branch)
    tip = None if ref is None else await repository.commit(ref)
    if tip is None or ref is None:
        raise GitError(f"branch {branch!r} doesn't exist", code="branch_missing")
    if await repository.commit(since) is None:
        raise GitError(f"commit {since[:10]} doesn't exist any more", code="commit_missing")
    if not await repository.is_ancestor(since, tip):
        message = f"{since[:10]} is not in the history of {branch} any more"
        raise GitError(message, "the branch was rewritten since", code="history_rewritten")
    out = await repository.output(
        "log", "--first-parent", "-z", "--format=%H %s", f"{since}..{tip}"
    )
    lines = (os.fsdecode(line).strip() for line in out.split(b"\0"))
    return [BranchCommit(*line.partition(" ")[::2]) for line in lines if line]
