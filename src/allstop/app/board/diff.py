"""The diff of a task's or a thread's work, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from allstop.adapters.git.repository.diff import Diff, base_and_tip, read_diff
from allstop.adapters.git.repository.repository import Repository
from allstop.app.board import commands
from allstop.app.runs.status import record_of
from allstop.core.errors import NotFoundError
from allstop.core.events import Closed, Event
from allstop.core.tasks import Task

if TYPE_CHECKING:
    from allstop.app.project import Project


AFTER_TURN = "it has some after its first turn"


async def diff_named(project: Project, name: str) -> Diff:
    """The diff of a task or of a Full Auto thread.

    Raises NotFoundError if there is no such task or thread, or it has no work.
    """
    heads = await project.records.heads() if project.has_store else []
    is_run = any(head.run == name and head.parent is None for head in heads)
    if not is_run or (await commands.read(project)).state.board.get(name):
        return await diff_of(project, await commands.find_task(project, name))
    recorded = await record_of(project, name)
    workspace = recorded.kind.workspace(recorded.opened)
    if not workspace:
        raise NotFoundError(f"{name} has no work of its own", "name a task or a Full Auto thread")
    below = [await record_of(project, head.run) for head in heads if head.parent == name]
    merged = [commit for each in below if (commit := _commit_of(each.events))]
    return await diff_in(project, workspace, merged[-1] if merged else "")


def _commit_of(events: Sequence[Event]) -> str:
    """The commit that a closed merge made; "" if there is none."""
    last = events[-1]
    return last.facts.get("commit", "") if isinstance(last, Closed) else ""


async def diff_of(project: Project, task: Task) -> Diff:
    """The diff since the task's start; of merged work the diff of the merge.

    Raises NotFoundError if the task has no work.
    """
    return await diff_in(project, task.id, task.merged)


async def diff_in(project: Project, workspace: str, merged: str) -> Diff:
    """The same for a workspace; `merged` is the commit that merged it, or "".

    Raises NotFoundError if the workspace has no work.
    """
    repository = await _open(project)
    try:
        if merged:
            return await read_diff(repository, await _before(repository, merged), merged)
        commits = await _commits_of(project, repository, workspace)
        if commits is None:
            raise NotFoundError(f"{workspace} has no work yet", AFTER_TURN)
        return await read_diff(repository, *commits)
    finally:
        repository.close()


async def line_of(project: Project, name: str, file: str, line: int, *, removed: bool) -> str:
    """A line of a file in the work, or with `removed` in the version before it.

    Raises NotFoundError if there is no such work, file or line.
    """
    repository = await _open(project)
    try:
        workspace = await _workspace_of(project, name)
        commits = await _commits_of(project, repository, workspace)
        if commits is None:
            raise NotFoundError(f"{name} has no work yet", AFTER_TURN)
        base, tip = commits
        shown = await repository.run("show", f"{base if removed else tip}:{file}")
    finally:
        repository.close()
    lines = shown.out.decode(errors="replace").splitlines() if shown.code == 0 else []
    if not 1 <= line <= len(lines):
        raise NotFoundError(f"the work of {name} has no line {line} in {file}")
    return lines[line - 1]


async def _open(project: Project) -> Repository:
    """The repository; in a fleet, with what other machines have pushed."""
    if project.shared_remote:
        from allstop.app.fleet.pushed_work import fetch_shared

        await fetch_shared(project)
    return project.open_repository()


async def _commits_of(
    project: Project, repository: Repository, workspace: str
) -> tuple[str, str] | None:
    """The base and the tip of the work; None if there is none."""
    if project.shared_remote:
        from allstop.app.fleet.pushed_work import pushed_commits
        from allstop.app.runtime import target

        pushed = await pushed_commits(repository, workspace, target(project))
        if pushed is not None:
            return pushed
    return await base_and_tip(repository, workspace)


async def _workspace_of(project: Project, name: str) -> str:
    task = (await commands.read(project)).state.board.get(name)
    if task is not None:
        return task.id
    opened = (await record_of(project, name)).opened
    return str(opened.spec.get("name") or name)


async def _before(repository: Repository, merged: str) -> str:
    parent = await repository.output("rev-parse", "--verify", f"{merged}^1")
    return parent.decode("ascii").strip()
