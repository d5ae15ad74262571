"""Routes for reading runs, rooms, the inbox, agents and settings."""

import itertools
from datetime import timedelta
from typing import Any

import anyio
import msgspec

from allstop import __version__
from allstop.app.agents.account_status import known_accounts
from allstop.app.board import board_spec
from allstop.app.call_list import CallReport, calls_since
from allstop.app.project import SQLITE
from allstop.app.rooms.threads import run_of
from allstop.app.runs.daily_budget import Today, today
from allstop.app.setup import init
from allstop.app.setup.doctor import examine, look_at_agents
from allstop.app.usage import UsageReport, usage_since
from allstop.core import replay
from allstop.core.errors import NotFoundError
from allstop.core.ids import BOARD, STREAMS, RunId, child_of
from allstop.plans.plan import Plan
from allstop.ports import Head, Record
from allstop.server import wire_types
from allstop.server.app_state import AppState
from allstop.server.routes import path_parameters
from allstop.server.run_messages import detail_of, hold_view
from allstop.settings.loader import FILE_NAME
from allstop.views.failure_reasons import FAILURE_REASONS
from allstop.views.kind import Kind
from allstop.views.log import lines
from allstop.views.plan_events import LivePlan
from allstop.views.plans import PlanView
from allstop.views.room_summary import RoomSummary
from allstop.views.rooms import LiveRoom


async def health(app: AppState, _: path_parameters.NoParameters) -> wire_types.Health:
    root = app.project.root
    return wire_types.Health(
        version=__version__,
        repository=root.name if root else "",
        hold=app.live_runs.helm.hold.value,
        settings_problem=app.settings.problem,
        shared=app.project.store_url != SQLITE,
    )


async def hold(app: AppState, _: path_parameters.NoParameters) -> wire_types.HoldView:
    return hold_view(app.live_runs.helm)


async def day(app: AppState, _: path_parameters.NoParameters) -> Today:
    return await today(app.project, app.supervisor.engine.daily_budget)


async def usage(app: AppState, params: path_parameters.Usage) -> UsageReport:
    since = app.project.clock.now() - timedelta(days=params.days)
    return await usage_since(app.project, since, params.by, params.agent, app.turns)


async def calls(app: AppState, params: path_parameters.Calls) -> CallReport:
    since = app.project.clock.now() - timedelta(days=params.days)
    return await calls_since(app.project, since, params.agent, params.limit)


async def notes(app: AppState, _: path_parameters.NoParameters) -> wire_types.NoteList:
    project = app.project
    found = board_spec.start_notes(project) if project.root is not None else []
    return wire_types.NoteList(notes=found)


# --- runs ---


async def runs(app: AppState, params: path_parameters.Runs) -> wire_types.RunList:
    heads = iter(reversed(app.live_runs.heads))
    if params.before:
        heads = itertools.dropwhile(lambda head: head.run != params.before, heads)
        if next(heads, None) is None:
            raise NotFoundError(f"there is no run {params.before!r}", "`allstop status` shows runs")
    matching = [head for head in heads if _matches(head, params)]
    shown = [await app.live_runs.view(head.run) for head in matching[: params.limit]]
    return wire_types.RunList(runs=shown, more=len(matching) > params.limit)


def _matches(head: Head, params: path_parameters.Runs) -> bool:
    if head.run == BOARD or (params.open and head.closed):
        return False
    return params.kind in ("", head.kind)


async def find_run(app: AppState, name: str) -> RunId:
    """Return the run of this name, or a task's latest run.

    Raises NotFoundError if the task has no run yet.
    """
    board = None if app.live_runs.knows(RunId(name)) else await app.live_runs.board()
    task = board.pilot.board.get(name) if board else None
    if task is None:
        return RunId(name)
    if task.open:
        return child_of(BOARD, task.open)
    if not task.attempts:
        hint = f"`allstop run {name}` starts it"
        raise NotFoundError(f"{name} has not been started yet", hint, code="not_started")
    return task.attempts[-1].run


async def run(app: AppState, params: path_parameters.OneRun) -> wire_types.RunDetail:
    name = await find_run(app, params.run)
    followed = await app.live_runs.run(name)
    below = [head.run for head in app.live_runs.heads if head.parent == name]
    return wire_types.RunDetail(
        run=await app.live_runs.view(name),
        seq=followed.seq,
        asks=list(followed.state.asks.values()),
        limits=followed.state.limits,
        children=[
            await app.live_runs.view(child) for child in below[-path_parameters.DEFAULT_LIMIT :]
        ],
        detail=await detail_of(app.live_runs, name),
    )


async def run_events(app: AppState, params: path_parameters.RunEvents) -> wire_types.RecordList:
    name = RunId(params.run) if params.run in STREAMS else await find_run(app, params.run)
    if name not in STREAMS:
        await app.live_runs.run(name)
    records = await app.project.journal.read(name, params.after, params.limit + 1)
    shown = [_record(record) for record in records[: params.limit]]
    return wire_types.RecordList(events=shown, more=len(records) > params.limit)


def _record(record: Record) -> wire_types.Recorded:
    event: dict[str, Any] = msgspec.to_builtins(record.event)
    return wire_types.Recorded(
        run=record.run,
        seq=record.seq,
        at=record.event.at,
        type=event["event"],
        lines=[f"{line.mark} {line.text}" for line in lines(record.event)],
        event=event,
    )


async def receipts(app: AppState, params: path_parameters.OneRun) -> wire_types.ReceiptList:
    name = await find_run(app, params.run)
    followed = await app.live_runs.run(name)
    events = [record.event for record in await app.project.journal.read(name)]
    return wire_types.ReceiptList(
        run=name,
        receipts=replay.receipts(followed.pilot, events),
        decisions=app.live_runs.kind(name).decisions(events),
    )


# --- rooms ---


async def rooms(app: AppState, _: path_parameters.NoParameters) -> wire_types.RoomList:
    live = app.live_runs
    found = [head.run for head in reversed(live.heads) if _has_sessions(live.known_kind(head.run))]
    summaries = [await detail_of(live, run) for run in found[: path_parameters.DEFAULT_LIMIT]]
    return wire_types.RoomList(rooms=[each for each in summaries if isinstance(each, RoomSummary)])


def _has_sessions(kind: Kind | None) -> bool:
    return kind is not None and kind.has_sessions


async def room_events(app: AppState, params: path_parameters.RoomEvents) -> wire_types.RoomEvents:
    room = await app.live_runs.run(run_of(params.thread))
    assert isinstance(room, LiveRoom), "a thread's run is a room"
    found = room.messages_after(params.after)
    return wire_types.RoomEvents(
        thread=params.thread, events=found[: params.limit], more=len(found) > params.limit
    )


# --- plans ---


async def plans(app: AppState, _: path_parameters.NoParameters) -> wire_types.PlanList:
    live = app.live_runs
    found = [head.run for head in reversed(live.heads) if _is_plan(live.known_kind(head.run))]
    views = [await detail_of(live, run) for run in found[: path_parameters.DEFAULT_LIMIT]]
    return wire_types.PlanList(plans=[each for each in views if isinstance(each, PlanView)])


def _is_plan(kind: Kind | None) -> bool:
    return kind is not None and kind.detail_type is PlanView


async def plan(app: AppState, params: path_parameters.OnePlan) -> Plan:
    followed = await app.live_runs.run(RunId(params.run))
    recorded: Plan = followed.state.pilot.spec.plan if isinstance(followed, LivePlan) else Plan()
    return recorded


async def plan_events(app: AppState, params: path_parameters.PlanEvents) -> wire_types.PlanEvents:
    plan = await app.live_runs.run(RunId(params.run))
    found = plan.messages_after(params.after) if isinstance(plan, LivePlan) else []
    shown = found[: params.limit]
    more = len(found) > len(shown)
    while shown and more and shown[0].seq < shown[-1].seq == found[len(shown)].seq:
        shown.pop()  # all events of a journal event are on one page
    return wire_types.PlanEvents(run=RunId(params.run), events=shown, more=more)


# --- inbox, agents, settings, processes ---


async def failures(app: AppState, _: path_parameters.NoParameters) -> wire_types.FailureList:
    return wire_types.FailureList(failures=list(FAILURE_REASONS.values()))


async def inbox(app: AppState, _: path_parameters.NoParameters) -> wire_types.Inbox:
    return wire_types.Inbox(waiting=await app.live_runs.waiting())


async def agents(app: AppState, _: path_parameters.NoParameters) -> wire_types.AgentList:
    return wire_types.AgentList(agents=look_at_agents(app.project))


async def accounts(app: AppState, _: path_parameters.NoParameters) -> wire_types.AccountList:
    return wire_types.AccountList(accounts=known_accounts(app.project, app.live_runs.accounts))


async def settings(app: AppState, _: path_parameters.NoParameters) -> wire_types.SettingList:
    return app.settings.listed


async def checkup(app: AppState, _: path_parameters.NoParameters) -> wire_types.Checkup:
    """Run the checks of `allstop doctor`; a sandbox that worked at startup isn't tested again."""
    project, isolation = app.project, app.supervisor.isolation
    findings = await examine(project, isolation if isolation.boxed else None)
    if project.root is None:
        return wire_types.Checkup(
            findings=findings, has_file=False, has_agents=False, agents=(), checks=()
        )
    detected = await anyio.to_thread.run_sync(init.detect_setup, project)
    return wire_types.Checkup(
        findings=findings,
        has_file=(project.root / FILE_NAME).exists(),
        has_agents=bool(project.settings.agents),
        agents=(*detected.agents, init.SCRIPTED),
        checks=detected.checks,
    )
