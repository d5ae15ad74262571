"""The work that workers have pushed, for those who read it on another machine."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from allstop.adapters.git.repository.safe_names import branch_ref
from allstop.adapters.git.shared.mirror import Mirror, RemoteError
from allstop.adapters.git.shared.shared_workspaces import task_branch
from allstop.app.fleet.membership import remote_addresses

if TYPE_CHECKING:
    from allstop.adapters.git.repository.repository import Repository
    from allstop.app.project import Project


async def fetch_shared(project: Project) -> None:
    """Fetch from the shared remote; if it doesn't answer, the last fetched state is read."""
    mirror = Mirror(project.mirror, *remote_addresses(project), lambda trouble: None)
    with suppress(RemoteError):
        await mirror.open()


async def pushed_commits(
    repository: Repository, workspace: str, target: str
) -> tuple[str, str] | None:
    """The base and the tip of a task's pushed work; None if there is none."""
    tip = await repository.commit(task_branch(workspace))
    if tip is None:
        return None
    base = await repository.run("merge-base", branch_ref(target) or "", tip)
    return (base.out.decode().strip(), tip) if base.code == 0 else None
