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
from allstop.adapters.git.workspace.clone import unknown
from allstop.adapters.git.workspace.ext4_hint import make_ground
from allstop.adapters.git.workspace.stale_refs import disown, left_behind
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents.box import box
from allstop.app.agents.max_cost import most_microusd
from allstop.app.agents.registry import Crew
from allstop.app.live_text import overheard
from allstop.app.notify.alerts import telling
from allstop.app.runs import budget_limits
from allstop.app.secrets import DiscreetWords, Discretion
from allstop.app.target_gate import TargetFile, fittings
from allstop.app.traces import tracing
from allstop.core.asks import Ask
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName
from allstop.core.moves import TakeTurn
from allstop.core.run import OpenMove
from allstop.engine.daily_budget import Days
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.kinds import PILOTS
from allstop.ports import Launcher

if TYPE_CHECKING:
    from allstop.app.project import House
    from allstop.core.tasks import Task

WITH_WORKSPACES = frozenset({"task", "auto"})
"""The kinds of runs that work in one."""


class Workshop:
    """An engine at work in this process, and the agents that were called to it."""

    def __init__(
        self,
        house: House,
        engine: LocalEngine,
        launcher: Launcher,
        crew: Crew,
        trees: GitWorkspaces | None,
    ) -> None:
        """Without a repository there are no `trees`."""
        self.house = house
        self.engine = engine
        self.launcher = launcher
        self.trees = trees
        self.hire = crew.hire


@asynccontextmanager
async def workshop(
    house: House,
    agents: Iterable[AgentName] = (),
    *,
    slots: int | None = None,
    note: Callable[[str], None] = lambda line: None,
) -> AsyncIterator[Workshop]:
    """An engine at work, for as long as the block lasts; without a repository, for talk only."""
    settings = house.settings
    house.make_folder()
    launcher = await make_launcher(settings.sandbox.mode.value, house.live)
    crew = Crew(house, launcher)
    repository = Repository(house.root) if house.root is not None else None
    file = TargetFile(house, repository, note) if repository else None
    trees = await workspaces(house, launcher, repository, file, note) if repository else None
    hands = Hands(
        crew,
        checks=BoxedChecks(launcher, trusted=house.is_trusted),
        workspaces=trees,
        launcher=launcher,
        gates=file.gate if file else None,
        clean=Discretion(lambda: house.secrets),
        unverified=lambda: unverified(house),
        words=lambda: DiscreetWords(lambda: house.secrets),
    )
    name = engine_name(os.getpid())
    engine = LocalEngine(
        journal=house.journal,
        hands=hands,
        clock=house.clock,
        pilots=PILOTS,
        launcher=launcher,
        name=name,
        slots=slots or settings.loop.max_parallel,
        appraise=appraiser(house, launcher, trees),
        most_microusd=most_microusd(house),
        days=Days(house.journal, budget_limits.of_day(house)),
    )
    try:
        crew.hire(agents)
        async with (
            tracing(house, engine, note),
            telling(house, engine, name, note),
            overheard(house, engine),
            engine.serving(),
        ):
            yield Workshop(house, engine, launcher, crew, trees)
    finally:
        if trees is not None:
            trees.close()
        await crew.close()


def unverified(house: House) -> str:
    """B15: what the log says of work that passes because there is nothing to check it by."""
    from allstop.settings.detection.detect import detect
    from allstop.settings.detection.missing_checks import in_log

    return in_log(detect(house.repository, house.environment).checks)


def appraiser(
    house: House, launcher: Launcher, trees: GitWorkspaces | None
) -> Callable[[Ask, OpenMove | None], Ask]:
    """What the policy says of what an agent asks, by the paths that the agent itself sees."""

    def home(asking: OpenMove | None) -> str:
        """A box shows a clone at the repository's own path; without one it is where it is."""
        match asking:
            case OpenMove(move=TakeTurn(workspace=str(name))) if trees:
                place = trees.place(name)
                return place.at if launcher.isolation.boxed else str(place.workspace)
            case _:
                return str(house.repository)

    def appraised(ask: Ask, asking: OpenMove | None) -> Ask:
        from allstop.adapters.shell import appraise
        from allstop.adapters.shell.links import links_out
        from allstop.policy.policy import Policy
        from allstop.settings.approval_rules import rules_of

        root, rules = home(asking), rules_of(house.settings.approvals.rules)
        policy = Policy(workspace=root, rules=rules)
        if not launcher.isolation.boxed:
            policy = replace(policy, leads_out=links_out(root))
        return appraise(ask, policy)

    return appraised


def engine_name(pid: int) -> str:
    return f"process {pid}"


async def workspaces(
    house: House,
    launcher: Launcher,
    repository: Repository | None = None,
    file: TargetFile | None = None,
    note: Callable[[str], None] = lambda line: None,
) -> GitWorkspaces:
    """With a file of the target branch, as that says when each is made."""
    settings = house.settings
    repository = repository or Repository(house.repository)
    folder = house.folder / "workspaces"
    if not folder.is_dir():
        await _begin_anew(house, repository, note)
    make_ground(folder)
    return GitWorkspaces(
        repository,
        folder,
        launcher=launcher,
        box=box(house),
        stores=await repository.object_stores(),
        links=settings.workspace.link,
        fittings=fittings(settings),
        fitting=file.fittings if file else unknown,
        disk_mb=settings.limits.disk_mb,
    )


async def _begin_anew(house: House, repository: Repository, note: Callable[[str], None]) -> None:
    """What an earlier .allstop left under refs/allstop is nobody's here. It is looked for before
    the record is, in which another process may just be writing the first of its own.
    """
    refs = await left_behind(repository)
    if not refs or any(head.kind in WITH_WORKSPACES for head in await house.records.heads()):
        return
    if backups := await disown(repository, refs):
        note(f"Work of an earlier .allstop folder is kept as {', '.join(backups)}.")


def commits_behind(house: House, task: Task) -> int:
    """How far the branch has moved that a task began from since its workspace was made."""
    if not (house.folder / "workspaces" / folder_name(task.id)).is_dir():
        return 0
    try:
        branch = task.target or target(house)
        return commits_since(house.repository, own_refs(house.repository).base(task.id), branch)
    except AllstopError:  # there is no such branch now
        return 0


def target(house: House) -> str:
    """The branch that work starts from."""
    branch = house.settings.project.target or checked_out_branch(house.repository)
    if branch is None:
        raise AllstopError(
            "HEAD is on no branch", "check one out, or set [project] target in allstop.toml"
        )
    if not has_commit(house.repository, branch):
        raise AllstopError(
            f"there is no branch {branch!r} with a commit to start from",
            "commit something to it first, or set [project] target in allstop.toml",
        )
    return branch
