"""Status of runs: reading their records without driving them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from allstop.adapters.journals.stop_file import StopFile
from allstop.app.project import SQLITE
from allstop.board import graph, remedy_hints
from allstop.board.board_pilot import BoardPilot
from allstop.board.dependencies import cancelled_needs
from allstop.board.graph import Board
from allstop.board.state import BoardState
from allstop.core import helm as helms
from allstop.core import run as runs
from allstop.core.asks import answer_command, describe_with_options
from allstop.core.board_specs import target_in_words
from allstop.core.commands import Allstop
from allstop.core.errors import AllstopError, NotFoundError
from allstop.core.events import Commanded, Event, Opened
from allstop.core.helm import Helm, Hold
from allstop.core.ids import ACCOUNTS, BOARD, HELM, STREAMS, RunId, child_of, label_of, root_of
from allstop.core.run import Pilot, RunState
from allstop.core.tasks import Task
from allstop.ports import Head, Holder, is_driven
from allstop.views.accounts import AccountView, account_view
from allstop.views.accounts import fold as fold_accounts
from allstop.views.board_phase import below, counts, phase, stopped
from allstop.views.inbox import needs_person, review_note, suggested_command
from allstop.views.kind import Kind
from allstop.views.runs import RunView, view
from allstop.views.sprints import stats_of, summary

if TYPE_CHECKING:
    from allstop.app.project import Project

RECENT = 10


class Status(Struct, frozen=True, kw_only=True):
    """The output of `allstop status`."""

    hold: str
    stopped_since: str | None
    stopped_by: str
    runs: list[RunView]
    needs_you: int
    board: BoardStatus | None = None
    disk_full: bool = False  # nothing can be recorded, so the status may be out of date
    accounts: list[AccountView] = []  # those with a hold or known windows


class BoardStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The board in short."""

    phase: str
    mode: str
    counts: dict[str, int]
    needs_you: list[Attention]
    start: str  # the command that starts a pending task; "" if there is none
    waits: str  # why no task starts without that command; "" if tasks start by themselves
    sprint: str = ""  # the running sprint in one line; left out without one


class Attention(Struct, frozen=True, kw_only=True):
    """A task that needs a person."""

    id: str
    title: str
    status: str
    note: str
    do: str  # the command that helps
    hint: str = ""  # the same in words, with alternatives
    since: datetime | None = None


class RunSnapshot(NamedTuple):
    run: RunId
    kind: Kind
    state: RunState[Any]
    last_at: datetime


class RunRecord(NamedTuple):
    run: RunId
    kind: Kind
    opened: Opened
    events: list[Event]

    @property
    def pilot(self) -> Pilot[Any]:
        return self.kind.pilot


async def helm_of(project: Project) -> Helm:
    return helms.fold([record.event for record in await project.records.read(HELM)])


def _with_stop_file(project: Project, helm: Helm) -> Helm:
    """A stop file is in force before a process has recorded it on the helm."""
    stop_file = StopFile(project.folder / "STOP")
    if helm.hold is Hold.STOPPED or not stop_file.exists():
        return helm
    at = stop_file.created_at() or project.clock.now()
    return helms.steer(helm, Commanded(at=at, command=Allstop(), by=stop_file.author()))


async def status(project: Project) -> Status:
    """All open runs and the last RECENT closed ones."""
    helm = _with_stop_file(project, await helm_of(project) if project.has_store else Helm())
    if not project.has_store:
        return _status_without_store(helm)
    held = project.records.holders()
    heads = await project.records.heads()
    ended = [head for head in heads if head.closed and head.parent is None][-RECENT:]
    shown = [head for head in heads if not head.closed or head in ended]
    seen = [await _snapshot(project, head) for head in shown if head.run != BOARD]
    views = [_view(project, each, helm, held) for each in seen]
    mine = [each for each in seen if root_of(each.run) == BOARD]
    board = await _board(project, helm, mine, driven=BOARD in held)
    needed = len(board.needs_you) if board else 0
    return Status(
        hold=helm.hold.value,
        stopped_since=helm.since.isoformat() if helm.since else None,
        stopped_by=helm.by,
        runs=views,
        needs_you=needed + sum(each.needs_you for each in views if each.parent is None),
        board=board,
        disk_full=project.records.is_full(),
        accounts=await _accounts(project),
    )


async def _accounts(project: Project) -> list[AccountView]:
    """Without the names of their agents, so that the settings needn't be read."""
    now = project.clock.now()
    ledger = fold_accounts({}, (each.event for each in await project.records.read(ACCOUNTS)))
    views = [account_view(name, (), state, now) for name, state in ledger.items()]
    return [each for each in views if each.hold is not None or each.windows]


def _status_without_store(helm: Helm) -> Status:
    since = helm.since.isoformat() if helm.since else None
    return Status(
        hold=helm.hold.value, stopped_since=since, stopped_by=helm.by, runs=[], needs_you=0
    )


async def _board(
    project: Project, helm: Helm, mine: list[RunSnapshot], *, driven: bool
) -> BoardStatus | None:
    events = [record.event for record in await project.records.read(BOARD)]
    if not events:
        return None
    run: RunState[BoardState] = runs.fold(BoardPilot(), events)
    state = run.pilot
    at_work = mine if driven else []
    asked = {
        label_of(each.run): (ask, each.state.asked_at.get(name))
        for each in at_work
        for name, ask in each.state.asks.items()
    }
    asking = [(task, *asked[task.id]) for task in state.board.tasks() if task.id in asked]
    stalled = [task for task in state.board.tasks() if needs_person(task)]
    under = below(state, [each.state for each in mine])
    return BoardStatus(
        phase=phase(run, helm, under, driven=driven).value,
        mode=state.spec.mode.value,
        counts=counts(state.board, stopped(state, helm, under)),
        needs_you=[
            *(
                _attention(
                    task,
                    f"asks: {describe_with_options(ask)}",
                    answer_command(task.id, ask),
                    since=since,
                )
                for task, ask, since in asking
            ),
            *(
                _attention(
                    task,
                    task.note or review_note(task),
                    suggested_command(task),
                    remedy_hints.hint(task),
                )
                for task in stalled
            ),
        ],
        start=_next_start(state, driven=driven),
        waits=state.brake_reason or state.sprint_pause,
        sprint=_sprint_line(state, project.clock.now()),
    )


def _next_start(state: BoardState, *, driven: bool) -> str:
    if state.is_braked:
        return _resume_command(driven=driven)
    return "allstop sprint resume" if state.sprint_pause else _start_command(state.board)


def _sprint_line(state: BoardState, now: datetime) -> str:
    if state.sprint is None:
        return ""
    until = target_in_words(state.sprint.spec.target)
    done = summary(stats_of(state.sprint))
    return f"{state.sprint.id} ({until}): {state.sprint.phase_at(now)} · {done}"


def _resume_command(*, driven: bool) -> str:
    return "allstop resume board" if driven else "allstop run"


def _start_command(board: Board) -> str:
    if graph.best(board) is not None:
        return "allstop run"
    tasks = board.tasks()
    held = (task.id for task in tasks if task.held and not graph.waits_for(board, task))
    again = next(held, None) or next(iter(cancelled_needs(tasks)), None)
    return f"allstop retry {again}" if again else ""


def _attention(
    task: Task, note: str, do: str, hint: str = "", since: datetime | None = None
) -> Attention:
    status = task.status.value
    return Attention(
        id=task.id,
        title=task.title,
        status=status,
        note=note,
        do=do,
        hint=hint,
        since=task.changed_at if since is None else since,
    )


async def _snapshot(project: Project, head: Head) -> RunSnapshot:
    recorded = await record_of(project, head.run)
    state = runs.fold(recorded.pilot, recorded.events)
    return RunSnapshot(head.run, recorded.kind, state, recorded.events[-1].at)


def _view(
    project: Project, seen: RunSnapshot, helm: Helm, held: dict[RunId, Holder | None]
) -> RunView:
    return view(
        seen.run,
        seen.kind,
        seen.state,
        helm=helm,
        now=project.clock.now(),
        driven=is_driven(seen.run, held),
        last_at=seen.last_at,
        queued=_awaited_worker(project, seen, held),
    )


def _awaited_worker(project: Project, seen: RunSnapshot, held: dict[RunId, Holder | None]) -> str:
    if not project.shared_remote or seen.state.closed is not None:
        return ""
    from allstop.app.fleet.worker_needs import awaited_worker

    return awaited_worker(project, seen.run, seen.state.opened, held)


async def record_of(project: Project, run: str) -> RunRecord:
    """The whole record of a run, or of a task's open or latest run.

    Raises AllstopError if there is no such run, or this version doesn't know its kind.
    """
    records = await project.records.read(RunId(run)) if project.has_store else []
    if not records and project.has_store:
        task = await _task(project, run)
        records = await project.records.read(_run_of(task) if task else child_of(BOARD, run))
    if not records or run in STREAMS:
        heads = await project.records.heads() if project.has_store else []
        raise unknown_run_error(run, [head.run for head in heads])
    opened = records[0].event
    assert isinstance(opened, Opened), "a journal starts with Opened"
    if opened.kind not in project.kinds:
        raise unknown_kind_error(run, opened.kind)
    events = [record.event for record in records]
    return RunRecord(records[0].run, project.kinds[opened.kind], opened, events)


async def runs_below(project: Project, state: BoardState) -> dict[RunId, RunState[Any]]:
    """The open runs of a board's tasks and merges."""
    found = [await record_of(project, child_of(BOARD, ref)) for ref in state.refs]
    return {each.run: runs.fold(each.pilot, each.events) for each in found}


async def task_records(project: Project, name: str) -> list[RunRecord]:
    """The records of a task's attempts and merges, in order; of another name, that run's.

    Raises AllstopError if there is no such run or task.
    """
    found = await record_of(project, name)
    if name == found.run or label_of(found.run) != name:
        return [found]
    heads = await project.records.heads()
    each = [head.run for head in heads if root_of(head.run) == BOARD and label_of(head.run) == name]
    return [await record_of(project, run) for run in each]


async def _task(project: Project, task_id: str) -> Task | None:
    events = [record.event for record in await project.records.read(BOARD)]
    if not events:
        return None
    state: BoardState = runs.fold(BoardPilot(), events).pilot
    return state.board.get(task_id)


def _run_of(task: Task) -> RunId:
    """The open run of a task, or its latest one."""
    if task.open:
        return child_of(BOARD, task.open)
    if not task.attempts:
        hint = f"`allstop run {task.id}` starts it"
        raise AllstopError(f"{task.id} has not been started yet", hint, code="task_not_started")
    return task.attempts[-1].run


def unknown_run_error(run: str, known: Sequence[RunId]) -> NotFoundError:
    hint = 'no run has been started here yet: allstop run "PROMPT"'
    if known:
        names = list(dict.fromkeys(map(label_of, known)))  # a task has many runs
        hint = "runs here: " + ", ".join(names[-RECENT:])
    return NotFoundError(f"there is no run {run!r}", hint)


def unknown_kind_error(run: str, kind: str) -> AllstopError:
    message = f"{run} is a {kind}, which this version does not know"
    return AllstopError(message, "use a newer allstop", code="kind_unknown")


def own_name(project: Project) -> str:
    """The name under which this process signs its receipts, if it drives runs."""
    if project.store_url == SQLITE:
        return f"process {os.getpid()}"
    from allstop.app.store import own_process

    return own_process(project).name


def other_drivers(project: Project) -> dict[str, Holder]:
    """The other processes that drive runs of this project, by the name that they sign with."""
    holders = (holder for holder in project.records.holders().values() if holder is not None)
    return {holder.name: holder for holder in holders if not _is_self(holder)}


def other_workers(project: Project) -> dict[str, Holder]:
    """The other workers of a fleet, also those that drive nothing now."""
    if project.store_url == SQLITE:
        return {}
    from allstop.adapters.journals.postgres_reader import PostgresRecords

    records = project.records
    assert isinstance(records, PostgresRecords), "only a server knows workers"
    return {each.name: each for each in records.workers() if not _is_self(each)}


def _is_self(holder: Holder) -> bool:
    return holder.pid == os.getpid() and is_local(holder)


def is_local(holder: Holder) -> bool:
    """Whether the process is one of this machine, so that it can be looked at and killed."""
    if not holder.world:
        return holder.host == os.uname().nodename
    from allstop.adapters.processes.identity import current_world

    return holder.world == current_world()
