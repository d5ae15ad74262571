"""The runtime of a process: an engine with its agents, workspaces and launcher."""

from __future__ import annotations

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
from allstop.adapters.git.workspace.orphan_refs import back_up_and_delete, find_stale_refs
from allstop.adapters.git.workspace.workspaces_folder import make_workspaces_folder
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.adapters.reports.report_request import RunnerReports
from allstop.app.agents.box import box
from allstop.app.agents.max_cost import most_microusd
from allstop.app.agents.registry import Agents
from allstop.app.gate_receipts import GateReceipts
from allstop.app.gateway.hosts import hosts_opener
from allstop.app.held_out import HeldOutChecks
from allstop.app.live_text import sharing_live_text
from allstop.app.notify.alerts import sending_alerts
from allstop.app.runs import budget_limits
from allstop.app.runs.status import own_name
from allstop.app.secrets import SecretFilter, SecretStream
from allstop.app.target_gate import TargetFile, check_variables, clone_setup
from allstop.app.traces import tracing
from allstop.core.asks import Ask
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName
from allstop.core.moves import TakeTurn
from allstop.core.run import OpenMove
from allstop.engine.change_notes import no_problem
from allstop.engine.daily_budget import DailyBudget
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.kinds import pilots_of
from allstop.ports import Launcher
from allstop.settings.model import History

if TYPE_CHECKING:
    from allstop.app.fleet.membership import Membership, WorkerPlan
    from allstop.app.project import Project
    from allstop.core.ids import RunId
    from allstop.core.tasks import Task


class Runtime:
    """A running engine with its launcher, agents and workspaces."""

    def __init__(
        self,
        project: Project,
        engine: LocalEngine,
        launcher: Launcher,
        registry: Agents,
        workspaces: GitWorkspaces | None,
        alert_about: Callable[[RunId], None],
    ) -> None:
        """Without a repository `workspaces` is None. `alert_about`: see `sending_alerts`."""
        self.alert_about = alert_about
        self.project = project
        self.engine = engine
        self.launcher = launcher
        self.workspaces = workspaces
        self.ensure_agents = registry.ensure_agents


@asynccontextmanager
async def start_runtime(
    project: Project,
    agents: Iterable[AgentName] = (),
    *,
    slots: int | None = None,
    note: Callable[[str], None] = lambda line: None,
    plan: WorkerPlan | None = None,
) -> AsyncIterator[Runtime]:
    """Run an engine until the block ends. Without a repository it can only drive rooms.

    With a `plan` it is that of a worker.
    """
    settings = project.settings
    project.make_folder()
    launcher = await make_launcher(settings.sandbox.mode.value, project.live)
    registry = Agents(project, launcher)
    fleet = None
    if project.shared_remote:
        from allstop.app.fleet.membership import join_fleet

        fleet = await join_fleet(project, note, plan)
    repository = project.open_repository() if project.root is not None else None
    file = TargetFile(project, repository, note) if repository else None
    workspaces = (
        await open_workspaces(project, launcher, repository, file, note, fleet)
        if repository
        else None
    )
    hands = make_hands(project, registry, launcher, workspaces, file, note)
    name = own_name(project)
    make_engine = fleet.make_engine(registry) if fleet else LocalEngine
    engine = make_engine(
        journal=project.journal,
        hands=hands,
        clock=project.clock,
        pilots=pilots_of(project.kinds),
        launcher=launcher,
        name=name,
        slots=slots or settings.loop.max_parallel,
        appraise=appraiser(project, launcher, workspaces),
        most_microusd=most_microusd(project),
        daily_budget=DailyBudget(project.journal, budget_limits.day_limits(project)),
    )
    try:
        if fleet is None:  # else the workers have them
            registry.ensure_agents(agents)
        async with (
            tracing(project, engine, note),
            sending_alerts(project, engine, name, note) as alert_about,
            sharing_live_text(project, engine),
            engine.serving(),
        ):
            yield Runtime(project, engine, launcher, registry, workspaces, alert_about)
    finally:
        if workspaces is not None:
            workspaces.close()
        if fleet is not None:
            fleet.close()
        await registry.close()


def make_hands(
    project: Project,
    registry: Agents,
    launcher: Launcher,
    workspaces: GitWorkspaces | None,
    file: TargetFile | None,
    note: Callable[[str], None],
) -> Hands:
    return Hands(
        registry,
        checks=_checks(project, launcher),
        workspaces=workspaces,
        launcher=launcher,
        gates=file.gate if file else None,
        clean=SecretFilter(lambda: project.secrets),
        unverified=lambda: unverified(project),
        words=lambda: SecretStream(lambda: project.secrets),
        settings_problem=file.problem if file else no_problem,
        receipts=GateReceipts(project, launcher, note),
        reports=RunnerReports(),
        held_out=HeldOutChecks(project),
    )


def _checks(project: Project, launcher: Launcher) -> BoxedChecks:
    return BoxedChecks(
        launcher,
        trusted=project.is_trusted,
        open_hosts=hosts_opener(launcher, "verification"),
        env=lambda: check_variables(project),
    )


def unverified(project: Project) -> str:
    """B15: the log line for work that passes because no checks are configured."""
    from allstop.settings.detection.detect import detect
    from allstop.settings.detection.missing_checks import in_log

    return in_log(detect(project.repository, project.environment).checks)


def appraiser(
    project: Project, launcher: Launcher, workspaces: GitWorkspaces | None
) -> Callable[[Ask, OpenMove | None], Ask]:
    """A function that applies the policy to an agent's ask, with the paths the agent sees."""

    def home(asking: OpenMove | None) -> str:
        """A box shows a clone at the repository's path; without a box the agent sees its own."""
        match asking:
            case OpenMove(move=TakeTurn(workspace=str(name))) if workspaces:
                place = workspaces.box_of(name)
                return place.at if launcher.isolation.boxed else str(place.workspace)
            case _:
                return str(project.repository)

    def appraised(ask: Ask, asking: OpenMove | None) -> Ask:
        from allstop.adapters.shell import appraise
        from allstop.adapters.shell.file_matches import file_matches
        from allstop.adapters.shell.outward_links import links_out
        from allstop.policy.policy import Policy
        from allstop.settings.approval_rules import rules_of
        from allstop.settings.model.machine import BoxedApprovals

        root, rules = home(asking), rules_of(project.settings.approvals.rules)
        is_boxed = launcher.isolation.boxed
        allows = is_boxed and project.settings.approvals.boxed is BoxedApprovals.ALLOW
        policy = Policy(workspace=root, rules=rules, within=allows)
        if not is_boxed:
            policy = replace(policy, escapes=links_out(root), matches=file_matches(root))
        return appraise(ask, policy)

    return appraised


async def open_workspaces(
    project: Project,
    launcher: Launcher,
    repository: Repository | None = None,
    file: TargetFile | None = None,
    note: Callable[[str], None] = lambda line: None,
    fleet: Membership | None = None,
) -> GitWorkspaces:
    """With `file`, each new clone is set up as the target branch's allstop.toml says."""
    settings = project.settings
    repository = repository or project.open_repository()
    folder = project.folder / "workspaces"
    if not folder.is_dir():
        await _back_up_stale_refs(project, repository, note)
    make_workspaces_folder(folder)
    make = fleet.make_workspaces() if fleet else GitWorkspaces
    return make(
        repository,
        folder,
        launcher=launcher,
        box=box(project),
        stores=await repository.object_stores(),
        links=settings.workspace.link,
        clone_setup=clone_setup(project, settings),
        find_clone_setup=file.clone_setup if file else no_clone_setup,
        disk_mb=settings.limits.disk_mb,
        whole_history=settings.workspace.history is History.FULL,
        open_hosts=hosts_opener(launcher, "workspace"),
    )


async def _back_up_stale_refs(
    project: Project, repository: Repository, note: Callable[[str], None]
) -> None:
    """Back up and delete refs that an earlier .allstop folder left under refs/allstop.

    The refs are listed before the journal is read: another process may be adding its first run.
    """
    refs = await find_stale_refs(repository)
    heads = await project.records.heads() if refs else []
    kinds = {head.kind for head in heads} & set(project.kinds)
    if not refs or any(project.kinds[kind].has_workspace for kind in kinds):
        return
    if backups := await back_up_and_delete(repository, refs):
        note(f"Refs of an earlier .allstop folder were backed up as {', '.join(backups)}.")


def commits_behind(project: Project, task: Task) -> int:
    """How many commits the task's target branch gained since the workspace was made."""
    if not (project.folder / "workspaces" / folder_name(task.id)).is_dir():
        return 0
    try:
        branch = task.target or target(project)
        return commits_since(project.git_root, own_refs(project.git_root).base(task.id), branch)
    except AllstopError:  # the branch is gone
        return 0


def target(project: Project) -> str:
    """The branch that work starts from."""
    branch = project.settings.project.target or checked_out_branch(project.repository)
    if branch is None:
        raise AllstopError(
            "HEAD is on no branch",
            "check one out, or set [project] target in allstop.toml",
            code="head_detached",
        )
    if not has_commit(project.git_root, branch):
        raise AllstopError(
            f"there is no branch {branch!r} with a commit to start from",
            "commit something to it first, or set [project] target in allstop.toml",
            code="branch_missing",
        )
    return branch
