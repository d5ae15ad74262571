"""Starting work: an engine with everything it needs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from allstop.adapters.checks import BoxedChecks
from allstop.adapters.git import GitWorkspaces
from allstop.adapters.git.repository.repository import (
    Repository,
    checked_out_branch,
    commits_since,
    has_commit,
)
from allstop.adapters.git.repository.safe_names import folder_name, own_refs
from allstop.adapters.git.workspace.clone import no_clone_setup
from allstop.adapters.git.workspace.ext4_hint import make_workspaces_folder
from allstop.adapters.git.workspace.orphan_refs import back_up_and_delete, find_stale_refs
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents.box import box
from allstop.app.agents.max_cost import most_microusd
from allstop.app.agents.registry import Agents
from allstop.app.live_text import overheard
from allstop.app.notify.alerts import telling
from allstop.app.runs import budget_limits
from allstop.app.secrets import DiscreetWords, SecretFilter
from allstop.app.target_gate import TargetFile, clone_setup
from allstop.app.traces import tracing
from allstop.core.asks import Ask
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName
from allstop.core.moves import TakeTurn
from allstop.core.run import OpenMove
from allstop.engine.daily_budget import DailyBudget
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.kinds import Pilots
from allstop.ports import Launcher

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.core.tasks import Task

"""The kinds of runs that work in one."""


class Runtime:
    """An engine at work in this process, and the agents that were called to it."""

    def __init__(
        self,
        project: Project,
        engine: LocalEngine,
        launcher: Launcher,
        registry: Agents,
        trees: GitWorkspaces | None,
    ) -> None:
        """Without a repository there are no `trees`."""
        self.project = project
        self.engine = engine
        self.launcher = launcher
        self.trees = trees
        self.hire = registry.hire


@asynccontextmanager
async def runtime(
    project: Project,
    agents: Iterable[AgentName] = (),
    *,
    slots: int | None = None,
    note: Callable[[str], None] = lambda line: None,
) -> AsyncIterator[Runtime]:
    """An engine at work, for as long as the block lasts; without a repository, for talk only."""
    settings = project.settings
    project.make_folder()
    launcher = await make_launcher(settings.sandbox.mode.value, project.live)
    registry = Agents(project, launcher)
    repository = Repository(project.root) if project.root is not None else None
    file = TargetFile(project, repository, note) if repository else None
    trees = await workspaces(project, launcher, repository, file, note) if repository else None
    hands = Hands(
        registry,
        checks=BoxedChecks(launcher, trusted=project.is_trusted),
        workspaces=trees,
        launcher=launcher,
        gates=file.gate if file else None,
        clean=SecretFilter(lambda: project.secrets),
        unverified=lambda: unverified(project),
        words=lambda: DiscreetWords(lambda: project.secrets),
    )
    name = engine_name(os.getpid())
    engine = LocalEngine(
        journal=project.journal,
        hands=hands,
        clock=project.clock,
        pilots=Pilots(project.kinds),
        launcher=launcher,
        name=name,
        slots=slots or settings.loop.max_parallel,
        appraise=appraiser(project, launcher, trees),
        most_microusd=most_microusd(project),
        daily_budget=DailyBudget(project.journal, budget_limits.of_day(project)),
    )
    try:
        registry.hire(agents)
        async with (
            tracing(project, engine, note),
            telling(project, engine, name, note),
            overheard(project, engine),
            engine.serving(),
        ):
            yield Runtime(project, engine, launcher, registry, trees)
    finally:
        if trees is not None:
            trees.close()
        await registry.close()


def unverified(project: Project) -> str:
    """B15: what the log says of work that passes because there is nothing to check it by."""
    from allstop.settings.detection.detect import detect
    from allstop.settings.detection.missing_checks import in_log

    return in_log(detect(project.repository, project.environment).checks)


def appraiser(
    project: Project, launcher: Launcher, trees: GitWorkspaces | None
) -> Callable[[Ask, OpenMove | None], Ask]:
    """What the policy says of what an agent asks, by the paths that the agent itself sees."""

    def home(asking: OpenMove | None) -> str:
        """A box shows a clone at the repository's own path; without one it is where it is."""
        match asking:
            case OpenMove(move=TakeTurn(workspace=str(name))) if trees:
                place = trees.box_of(name)
                return place.at if launcher.isolation.boxed else str(place.workspace)
            case _:
                return str(project.repository)

    def appraised(ask: Ask, asking: OpenMove | None) -> Ask:
        from allstop.adapters.shell import appraise
        from allstop.adapters.shell.links import links_out
        from allstop.policy.policy import Policy
        from allstop.settings.approval_rules import rules_of

        root, rules = home(asking), rules_of(project.settings.approvals.rules)
        policy = Policy(workspace=root, rules=rules)
        if not launcher.isolation.boxed:
            policy = replace(policy, escapes=links_out(root))
        return appraise(ask, policy)

    return appraised


def engine_name(pid: int) -> str:
    return f"process {pid}"


async def workspaces(
    project: Project,
    launcher: Launcher,
    repository: Repository | None = None,
    file: TargetFile | None = None,
    note: Callable[[str], None] = lambda line: None,
) -> GitWorkspaces:
    """With a file of the target branch, as that says when each is made."""
    settings = project.settings
    repository = repository or Repository(project.repository)
    folder = project.folder / "workspaces"
    if not folder.is_dir():
        await _begin_anew(project, repository, note)
    make_workspaces_folder(folder)
    return GitWorkspaces(
        repository,
        folder,
        launcher=launcher,
        box=box(project),
        stores=await repository.object_stores(),
        links=settings.workspace.link,
        clone_setup=clone_setup(settings),
        find_clone_setup=file.clone_setup if file else no_clone_setup,
        disk_mb=settings.limits.disk_mb,
    )


async def _begin_anew(
    project: Project, repository: Repository, note: Callable[[str], None]
) -> None:
    """What an earlier .allstop left under refs/allstop is nobody's here. It is looked for before
    the record is, in which another process may just be writing the first of its own.
    """
    refs = await find_stale_refs(repository)
    heads = await project.records.heads() if refs else []
    kinds = {head.kind for head in heads} & set(project.kinds)
    if not refs or any(project.kinds[kind].has_workspace for kind in kinds):
        return
    if backups := await back_up_and_delete(repository, refs):
        note(f"Work of an earlier .allstop folder is kept as {', '.join(backups)}.")


def commits_behind(project: Project, task: Task) -> int:
    """How far the branch has moved that a task began from since its workspace was made."""
    if not (project.folder / "workspaces" / folder_name(task.id)).is_dir():
        return 0
    try:
        branch = task.target or target(project)
        return commits_since(project.repository, own_refs(project.repository).base(task.id), branch)
    except AllstopError:  # there is no such branch now
        return 0


def target(project: Project) -> str:
    """The branch that work starts from."""
    branch = project.settings.project.target or checked_out_branch(project.repository)
    if branch is None:
        raise AllstopError(
            "HEAD is on no branch", "check one out, or set [project] target in allstop.toml"
        )
    if not has_commit(project.repository, branch):
        raise AllstopError(
            f"there is no branch {branch!r} with a commit to start from",
            "commit something to it first, or set [project] target in allstop.toml",
        )
    return branch
