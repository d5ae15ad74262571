"""What makes a process part of a fleet: the shared remote, the queue of runs, and its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from allstop.adapters.git.shared.mirror import Mirror
from allstop.adapters.git.shared.shared_workspaces import SharedWorkspaces
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.adapters.journals.postgres_connection import Link
from allstop.adapters.journals.postgres_run_budgets import PostgresRunBudgets
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.fleet.worker_needs import (
    describe,
    needs_of,
    offers_of,
    offers_to_merges,
    offers_to_tasks,
)
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName
from allstop.engine.handout import ControlEngine
from allstop.engine.worker import Lane, WorkerEngine

if TYPE_CHECKING:
    from allstop.adapters.dispatch.procrastinate_queue import ProcrastinateQueue
    from allstop.adapters.git import GitWorkspaces
    from allstop.app.agents.registry import Agents
    from allstop.app.project import Project
    from allstop.engine.local import LocalEngine

MERGES = 1
"""How many merges a worker does beside its tasks: they must not wait for a free slot."""


class WorkerPlan(NamedTuple):
    slots: int
    labels: tuple[str, ...] = ()


class Membership:
    def __init__(
        self,
        project: Project,
        mirror: Mirror,
        link: Link,
        queue: ProcrastinateQueue,
        plan: WorkerPlan | None,
    ) -> None:
        self._project = project
        self._mirror = mirror
        self._link = link
        self._queue = queue
        self._plan = plan

    def make_workspaces(self) -> Callable[..., GitWorkspaces]:
        is_worker = self._plan is not None
        return partial(SharedWorkspaces, mirror=self._mirror, is_worker=is_worker)

    def make_engine(self, agents: Agents) -> Callable[..., LocalEngine]:
        """A worker's engine, or that of a control room."""
        if self._plan is None:
            return partial(
                ControlEngine,
                dispatch=self._queue,
                needs_of=needs_of,
                describe=describe,
                offers=self._offers,
            )
        usable = usable_agents(self._project, agents)
        theirs = (self._project.settings.agents[name].labels for name in usable)
        labels = (*self._plan.labels, *(label for some in theirs for label in some))
        lanes = lanes_of(self._plan._replace(labels=labels), usable)
        return partial(self._make_worker, lanes)

    async def _offers(self) -> list[frozenset[str]] | None:
        return offers_of(await self._journal.processes())

    @property
    def _journal(self) -> PostgresJournal:
        journal = self._project.journal
        assert isinstance(journal, PostgresJournal), "a fleet has a store on a server"
        return journal

    def _make_worker(self, lanes: tuple[Lane, ...], **more: object) -> WorkerEngine:
        from allstop.adapters.dispatch.procrastinate_queue import CHANNEL

        budgets = PostgresRunBudgets(self._journal)
        engine = WorkerEngine(dispatch=self._queue, lanes=lanes, run_budgets=budgets, **more)
        self._journal.hear(CHANNEL, engine.tell)
        return engine

    def close(self) -> None:
        self._link.close()


async def join_fleet(
    project: Project, note: Callable[[str], None], plan: WorkerPlan | None
) -> Membership:
    """Raises AllstopError if the remote can't be reached, or packages are missing."""
    prepare, make_queue = queue_parts()
    mirror = Mirror(project.mirror, *remote_addresses(project), note)
    await mirror.open()
    project.forget_settings()  # those of the target branch are now the remote's
    link = Link(project.store_url, prepare)
    return Membership(project, mirror, link, make_queue(link), plan)


def queue_parts() -> tuple[Callable[..., None], Callable[[Link], ProcrastinateQueue]]:
    try:
        from allstop.adapters.dispatch.procrastinate_queue import ProcrastinateQueue, prepare
    except ImportError as error:
        raise AllstopError(
            "a fleet needs packages that aren't installed",
            "install its extra, in the clone of Allstop: `pipx install --force '.[fleet]'`",
            code="fleet_not_installed",
        ) from error
    return prepare, ProcrastinateQueue


def remote_addresses(project: Project) -> tuple[str, str]:
    """Where the shared remote is fetched from and pushed to.

    Raises AllstopError if this clone has no such remote.
    """
    from allstop.adapters.git.repository.repository import remote_address

    name = project.shared_remote
    addresses = [remote_address(project.repository, name, *push) for push in ((), ("--push",))]
    if not all(addresses):
        raise AllstopError(
            f"this clone has no git remote {name!r}",
            f"`git remote add {name} URL` names it; [fleet] remote chooses another one",
            code="remote_missing",
        )
    return addresses[0], addresses[1]


def lanes_of(plan: WorkerPlan, agents: Iterable[str]) -> tuple[Lane, ...]:
    """What a worker takes."""
    return (
        Lane("merge", MERGES, offers_to_merges(plan.labels)),
        Lane("task", plan.slots, offers_to_tasks(plan.labels, agents)),
    )


def usable_agents(project: Project, agents: Agents) -> list[AgentName]:
    """The configured agents that this machine can start."""
    found = []
    for name in map(AgentName, project.settings.agents):
        try:
            agents.ensure_agents([name])
        except AgentSetupError:
            continue
        found.append(name)
    return found
