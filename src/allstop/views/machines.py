"""The processes of a fleet as people see them: where they run, their slots, work, load and lease."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec import Struct

from allstop.core.ids import RunId

WORKER, CONTROL_ROOM = "worker", "control room"
"""Roles that a process tells the store. One without a role is shown while it drives a run."""

LOST_AFTER = 1 / 3
"""The share of its lease after which a silent process is shown as lost: two heartbeats."""

SHOWN_LOST_S = 3600.0
"""How long a lost worker stays in the list."""


class ProcessState(StrEnum):
    ONLINE = "online"
    DRAINING = "draining"
    LOST = "lost"


class Load(Struct, frozen=True, kw_only=True):
    """What isn't known is None."""

    cpu: float | None = None  # share of all processors
    memory_used: int | None = None  # bytes
    memory_total: int | None = None
    disk_free: int | None = None
    disk_total: int | None = None


class Facts(Struct, frozen=True, kw_only=True):
    """What a process tells the store about itself."""

    version: str = ""
    role: str = ""
    slots: int = 0
    labels: tuple[str, ...] = ()
    agents: tuple[str, ...] | None = None  # that a worker can start; None: it doesn't say it
    load: Load = Load()


class ProcessRow(Struct, frozen=True, kw_only=True):
    """A process as the store knows it."""

    id: str
    host: str
    pid: int
    worker: str
    command: str
    since: datetime
    heard_s: float  # since its last sign of life
    lease_s: float
    drained_by: str
    about: Mapping[str, object]


class Work(Struct, frozen=True, kw_only=True):
    """A run that a process drives."""

    run: RunId
    label: str = ""  # the task's id
    title: str = ""
    agent: str = ""
    doing: str = ""
    since: datetime


class MachineProcess(Struct, frozen=True, kw_only=True):
    id: str = ""  # empty if the store gives none
    pid: int
    command: str
    since: datetime
    runs: list[RunId]  # it has claimed these, with all below them
    here: bool  # it is the process that answers
    name: str = ""  # of the worker
    state: ProcessState = ProcessState.ONLINE
    role: str = ""
    version: str = ""
    labels: tuple[str, ...] = ()
    slots: int = 0
    drained_by: str = ""
    heard_s: float | None = None
    elsewhere_in_s: float | None = None  # until others may take over what a lost process did
    load: Load = Load()
    work: tuple[Work, ...] = ()


def facts_of(about: Mapping[str, object]) -> Facts:
    """The facts, or none where another version of the program wrote something else."""
    try:
        return msgspec.convert(dict(about), Facts, strict=False)
    except msgspec.ValidationError:
        version = about.get("version")
        return Facts(version=version if isinstance(version, str) else "")


def state_of(row: ProcessRow) -> ProcessState:
    if row.heard_s > row.lease_s * LOST_AFTER:
        return ProcessState.LOST
    return ProcessState.DRAINING if row.drained_by else ProcessState.ONLINE


def is_shown(row: ProcessRow, claimed: Sequence[RunId]) -> bool:
    if row.heard_s > row.lease_s:
        return facts_of(row.about).role == WORKER and row.heard_s < SHOWN_LOST_S
    return bool(claimed) or facts_of(row.about).role != ""


def process_view(
    row: ProcessRow, claimed: list[RunId], work: Sequence[Work], *, here: bool
) -> MachineProcess:
    facts, state = facts_of(row.about), state_of(row)
    left_s = max(0.0, row.lease_s - row.heard_s)
    return MachineProcess(
        id=row.id,
        pid=row.pid,
        command=row.command,
        since=row.since,
        runs=claimed,
        here=here,
        name=row.worker,
        state=state,
        role=facts.role,
        version=facts.version,
        labels=facts.labels,
        slots=facts.slots,
        drained_by=row.drained_by,
        heard_s=round(row.heard_s, 1),
        elsewhere_in_s=round(left_s, 1) if state is ProcessState.LOST else None,
        load=facts.load,
        work=tuple(work),
    )
