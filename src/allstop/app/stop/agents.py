"""Creates the STOP file and kills the recorded agents; no store is needed for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allstop.adapters.journals.stop_file import StopFile
from allstop.adapters.processes.identity import is_alive
from allstop.adapters.processes.live_registry import Record, kill_recorded, recorded_trees
from allstop.core.events import Killed

if TYPE_CHECKING:
    from datetime import datetime

    from allstop.app.project import Project


def create_stop_file(project: Project, why: str) -> None:
    """The first step of every stop: it needs neither the store nor an answer."""
    StopFile(project.folder / "STOP").create(why, make_folder=True)


def agent_trees(project: Project) -> tuple[Record, ...]:
    """The process trees of agents that are recorded as alive."""
    return recorded_trees(project.live) if project.live.exists() else ()


class KilledAgents(NamedTuple):
    at: datetime  # before the STOP file: driving processes may answer from then on
    killed: tuple[Killed, ...]


def kill_agents(project: Project, by: str, at: datetime | None = None) -> KilledAgents:
    """Kill all recorded agents. A driving process may kill some of them first; they count too.

    `at` is before the STOP file, if it was created before this call.
    """
    at = at or project.clock.now()
    trees = agent_trees(project)
    create_stop_file(project, by)
    if project.live.exists():
        kill_recorded(project.live)
    return KilledAgents(at, killed_of(trees))


def killed_of(trees: tuple[Record, ...]) -> tuple[Killed, ...]:
    return tuple(
        Killed(label=tree.label, pid=tree.root.pid) for tree in trees if not is_alive(tree.root)
    )
