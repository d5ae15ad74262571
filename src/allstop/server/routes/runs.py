"""What can be looked at of runs, rooms and agents. Nothing here changes anything."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import anyio
import msgspec

from allstop import __version__
from allstop.app.board import board_spec
from allstop.app.rooms.threads import run_of
from allstop.app.runs.day import Today, today
from allstop.app.setup import init
from allstop.app.setup.doctor import examine, look_at_agents
from allstop.app.usage import UsageReport, used_since
from allstop.core import replay
from allstop.core.errors import NotFoundError
from allstop.core.ids import BOARD, HELM, RunId, child_of
from allstop.ports import Head, Holder, Record
from allstop.server import wire_types
from allstop.server.app_state import Desk
from allstop.server.routes import path_parameters
from allstop.server.run_messages import detail_of, hold_view
from allstop.settings.loader import FILE_NAME
from allstop.views.log import lines
from allstop.views.room_summary import RoomSummary
from allstop.views.rooms import LiveRoom


async def health(desk: Desk, _: path_parameters.Nothing) -> wire_types.Health:
    root = desk.project.root
    return wire_types.Health(
        version=__version__,
        repository=root.name if root else "",
        hold=desk.live_runs.helm.hold.value,
        settings_problem=desk.settings.problem,
    )


async def hold(desk: Desk, _: path_parameters.Nothing) -> wire_types.HoldView:
    return hold_view(desk.live_runs.helm)


async def day(desk: Desk, _: path_parameters.Nothing) -> Today:
    return await today(desk.project, desk.supervisor.engine.daily_budget)


async def usage(desk: Desk, given: path_parameters.Usage) -> UsageReport:
    since = desk.project.clock.now() - timedelta(days=given.days)
    return await used_since(desk.project, since, given.by, given.agent, desk.turns)


async def notes(desk: Desk, _: path_parameters.Nothing) -> wire_types.NoteList:
    project = desk.project
    found = board_spec.noted(project) if project.root is not None else []
    return wire_types.NoteList(notes=found)


# --- runs ---


async def runs(desk: Desk, given: path_parameters.Runs) -> wire_types.RunList:
    heads = iter(reversed(desk.live_runs.heads))
    if given.before:
        heads = itertools.dropwhile(lambda head: head.run != given.before, heads)
        if next(heads, None) is None:
            raise NotFoundError(f"there is no run {given.before!r}")
    fitting = [head for head in heads if _fits(head, given)]
    shown = [await desk.live_runs.view(head.run) for head in fitting[: given.limit]]
    return wire_types.RunList(runs=shown, more=len(fitting) > given.limit)


def _fits(head: Head, given: path_parameters.Runs) -> bool:
    if head.run == BOARD or (given.open and head.closed):
        return False
    return given.kind in ("", head.kind)


async def run_named(desk: Desk, name: str) -> RunId:
    """A run, or a task's latest one.

    Raises:
        NotFoundError: there is neither.
    """
    board = None if desk.live_runs.knows(RunId(name)) else await desk.live_runs.board()
    task = board.pilot.board.get(name) if board else None
    if task is None:
        return RunId(name)
    if task.open:
        return child_of(BOARD, task.open)
    if not task.attempts:
        raise NotFoundError(f"{name} has not been started yet", f"`allstop run {name}` starts it")
    return task.attempts[-1].run


async def run(desk: Desk, given: path_parameters.OneRun) -> wire_types.RunDetail:
    name = await run_named(desk, given.run)
    followed = await desk.live_runs.run(name)
    below = [head.run for head in desk.live_runs.heads if head.parent == name]
    return wire_types.RunDetail(
        run=await desk.live_runs.view(name),
        seq=followed.seq,
        asks=list(followed.state.asks.values()),
        limits=followed.state.limits,
        children=[await desk.live_runs.view(child) for child in below[-path_parameters.PAGE :]],
        detail=await detail_of(desk.live_runs, name),
    )


async def run_events(desk: Desk, given: path_parameters.RunEvents) -> wire_types.RecordList:
    name = HELM if given.run == HELM else await run_named(desk, given.run)
    if name != HELM:
        await desk.live_runs.run(name)
    records = await desk.project.journal.read(name, given.after, given.limit + 1)
    shown = [_recorded(record) for record in records[: given.limit]]
    return wire_types.RecordList(events=shown, more=len(records) > given.limit)


def _recorded(record: Record) -> wire_types.Recorded:
    event: dict[str, Any] = msgspec.to_builtins(record.event)
    return wire_types.Recorded(
        run=record.run,
        seq=record.seq,
        at=record.event.at,
        type=event["event"],
        lines=[f"{line.mark} {line.text}" for line in lines(record.event)],
        event=event,
    )


async def receipts(desk: Desk, given: path_parameters.OneRun) -> wire_types.ReceiptList:
    name = await run_named(desk, given.run)
    followed = await desk.live_runs.run(name)
    events = [record.event for record in await desk.project.journal.read(name)]
    return wire_types.ReceiptList(
        run=name,
        receipts=replay.receipts(followed.pilot, events),
        decisions=desk.live_runs.kind(name).decisions(events),
    )


# --- rooms ---


async def rooms(desk: Desk, _: path_parameters.Nothing) -> wire_types.RoomList:
    live = desk.live_runs
    found = [head.run for head in reversed(live.heads) if live.has_messages(head.run)]
    summaries = [await detail_of(live, run) for run in found[: path_parameters.PAGE]]
    return wire_types.RoomList(rooms=[each for each in summaries if isinstance(each, RoomSummary)])


async def room_events(desk: Desk, given: path_parameters.RoomEvents) -> wire_types.RoomEvents:
    room = await desk.live_runs.run(run_of(given.thread))
    assert isinstance(room, LiveRoom), "a thread's run is a room"
    found = room.messages_after(given.after)
    return wire_types.RoomEvents(
        thread=given.thread, events=found[: given.limit], more=len(found) > given.limit
    )


# --- the rest ---


async def inbox(desk: Desk, _: path_parameters.Nothing) -> wire_types.Inbox:
    return wire_types.Inbox(waiting=await desk.live_runs.waiting())


async def agents(desk: Desk, _: path_parameters.Nothing) -> wire_types.AgentList:
    return wire_types.AgentList(agents=look_at_agents(desk.project))


async def settings(desk: Desk, _: path_parameters.Nothing) -> wire_types.SettingList:
    return desk.settings.listed


async def checkup(desk: Desk, _: path_parameters.Nothing) -> wire_types.Checkup:
    """A box that holds was tried when this process began; one that is missing is tried again."""
    project, isolation = desk.project, desk.supervisor.isolation
    findings = await examine(project, isolation if isolation.boxed else None)
    if project.root is None:
        return wire_types.Checkup(
            findings=findings, has_file=False, has_agents=False, agents=(), checks=()
        )
    detected = await anyio.to_thread.run_sync(init.find, project)
    return wire_types.Checkup(
        findings=findings,
        has_file=(project.root / FILE_NAME).exists(),
        has_agents=bool(project.settings.agents),
        agents=(*detected.agents, init.SCRIPTED),
        checks=detected.checks,
    )


async def machines(desk: Desk, _: path_parameters.Nothing) -> wire_types.MachineList:
    by_host: dict[str, dict[int, tuple[Holder, list[RunId]]]] = {socket.gethostname(): {}}
    for run, holder in desk.live_runs.holders().items():
        if holder is not None:
            by_host.setdefault(holder.host, {}).setdefault(holder.pid, (holder, []))[1].append(run)
    return wire_types.MachineList(
        machines=[
            wire_types.Machine(name=host, processes=list(_processes(host, found.values())))
            for host, found in by_host.items()
        ]
    )


def _processes(
    host: str, found: Iterable[tuple[Holder, list[RunId]]]
) -> Iterator[wire_types.Process]:
    for holder, held in found:
        here = holder.pid == os.getpid() and host == socket.gethostname()
        yield wire_types.Process(
            pid=holder.pid, command=holder.command, since=holder.since, runs=held, here=here
        )
