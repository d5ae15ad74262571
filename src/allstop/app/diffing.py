"""What a task's work changes, for people to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.adapters.git.diffs import Shown, commits_of, shown_diff
from allstop.adapters.git.repository import Repository
from allstop.core.errors import NotFoundError
from allstop.core.tasks import Task

if TYPE_CHECKING:
    from allstop.app.house import House


async def diff_of(house: House, task: Task) -> Shown:
    """Against where it began; of merged work what the merge brought.

    Raises:
        NotFoundError: there is no work of it.
    """
    repository = Repository(house.repository)
    try:
        if task.merged:
            return await shown_diff(repository, await _before(repository, task.merged), task.merged)
        commits = await commits_of(repository, task.id)
        if commits is None:
            raise NotFoundError(f"{task.id} has no work to show yet", "it comes after a turn")
        return await shown_diff(repository, *commits)
    finally:
        repository.close()


async def _before(repository: Repository, merged: str) -> str:
    parent = await repository.output("rev-parse", "--verify", f"{merged}^1")
    return parent.decode("ascii").strip()
