"""What a run needs of a worker, and what workers offer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from allstop.core.ids import BOARD, RunId, root_of
from allstop.views.machines import WORKER, ProcessRow, ProcessState, facts_of, state_of

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.core.events import Opened


def needs_of(opened: Opened) -> frozenset[str]:
    """What a worker must offer for a run: its kind, its agents and the labels of its task."""
    spec = opened.spec
    agents = [str(each) for key in ("agents", "second") for each in _list(spec.get(key))]
    labels = [str(each) for each in _list(spec.get("labels"))]
    return frozenset([_kind(opened.kind), *_agents(agents), *_labels(labels)])


def offers_to_merges(labels: Iterable[str]) -> frozenset[str]:
    """They need no agent."""
    return frozenset([_kind("merge"), *_labels(labels)])


def offers_to_tasks(labels: Iterable[str], agents: Iterable[str]) -> frozenset[str]:
    return frozenset([_kind("task"), *_agents(agents), *_labels(labels)])


def offers_of(rows: Iterable[ProcessRow]) -> list[frozenset[str]] | None:
    """What the workers that take runs offer; None if one of an older version doesn't say it."""
    found = []
    for row in rows:
        facts = facts_of(row.about)
        if facts.role != WORKER or state_of(row) is not ProcessState.ONLINE:
            continue
        if facts.agents is None:
            return None
        found += [offers_to_merges(facts.labels), offers_to_tasks(facts.labels, facts.agents)]
    return found


def is_unclaimed(project: Project, run: RunId, held: Collection[RunId]) -> bool:
    """Whether a run of the board is handed out, and no worker has taken it yet."""
    is_on_board = run != BOARD and root_of(run) == BOARD and BOARD in held
    return is_on_board and run not in held and bool(project.shared_remote)


def awaited_worker(project: Project, run: RunId, opened: Opened, held: Collection[RunId]) -> str:
    """The worker that an open run waits for, in words; "" if it waits for none."""
    if not is_unclaimed(project, run, held):
        return ""
    return f"waits for a free worker{describe(needs_of(opened))}"


def named(offers: Iterable[str], what: str) -> list[str]:
    """The names of the labels, or of the agents, among these offers."""
    return sorted(each[len(what) + 1 :] for each in offers if each.startswith(f"{what} "))


def describe(needs: Iterable[str]) -> str:
    """The needs as the end of a sentence about a worker."""
    named = sorted(each for each in needs if not each.startswith(_kind("")))
    return f" that offers: {', '.join(named)}" if named else ""


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _kind(kind: str) -> str:
    return f"kind {kind}"


def _agents(names: Iterable[str]) -> Iterable[str]:
    """A model that is named by its provider needs no settings, so every worker may have it."""
    return (f"agent {name}" for name in names if ":" not in name)


def _labels(labels: Iterable[str]) -> Iterable[str]:
    return (f"label {label}" for label in labels)
