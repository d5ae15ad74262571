"""Rooms: reading a thread, and telling it something."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from allstop.app.rooms.session_spec import SessionRequest, default_agents, session_spec
from allstop.core.commands import Allstop, Command, Interrupt, Resume, Say, StartSession
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded, Event, Opened, Stopped
from allstop.core.helm import Helm, Hold
from allstop.core.helm import fold as steered
from allstop.core.ids import HELM, AgentName, RunId
from allstop.core.room_specs import SessionSpec, TalkMode
from allstop.core.run import must_record_stop
from allstop.engine.send import send_command
from allstop.ports import Cursor, Entry, StaleError
from allstop.rooms.pilot import RoomPilot
from allstop.rooms.session import RoomState, mentioned_agent
from allstop.rooms.typed_input import InvalidInput, Message, StartRequest, StopWord, parse_input
from allstop.views.rooms import RoomEvent, RoomView

if TYPE_CHECKING:
    from allstop.app.project import Project

PILOT = RoomPilot()
THREAD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PREFIX = "room:"


def run_of(thread: str) -> RunId:
    """The run of a thread.

    Raises:
        AllstopError: no thread can be called so.
    """
    if not THREAD_NAME.fullmatch(thread):
        hint = "letters, digits, dots, dashes and underscores; at most 64 of them"
        raise AllstopError(f"{thread!r} is no name for a thread", hint)
    return RunId(_PREFIX + thread)


def thread_of(run: RunId) -> str | None:
    return run.removeprefix(_PREFIX) if run.startswith(_PREFIX) else None


# --- reading ---


class ThreadSnapshot(NamedTuple):
    """A thread as it was when it was read."""

    view: RoomView
    events: list[RoomEvent]
    cursor: Cursor
    exists: bool
    helm: Helm

    @property
    def room(self) -> RoomState:
        return self.view.room


async def read(project: Project, thread: str) -> ThreadSnapshot:
    run = run_of(thread)
    helm = await project.journal.read(HELM) if project.has_store else []
    records = await project.journal.read(run) if project.has_store else []
    opened = records[0].event if records else _opened(project, thread)
    assert isinstance(opened, Opened), "a journal starts with Opened"
    view = RoomView(PILOT, opened)
    events = [told for record in records[1:] for told in view.take(record.event)]
    cursor = Cursor(run, len(records), helm[-1].seq if helm else 0)
    held = steered([record.event for record in helm])
    return ThreadSnapshot(view, events, cursor, exists=bool(records), helm=held)


def _opened(project: Project, thread: str) -> Opened:
    spec: dict[str, object] = {"thread": thread}
    return Opened(at=project.clock.now(), kind="room", spec=spec, title=f"room, thread {thread}")


async def start(project: Project, thread: str, spec: SessionSpec, *, instead: bool = False) -> None:
    """Begin a session; only one can be active in a thread.

    Raises:
        AllstopError: there is one already, or everything is stopped.
    """
    run = run_of(thread)
    while True:
        found = await read(project, thread)
        _refuse_start(project, thread, found, instead=instead)
        commands: list[Command] = [StartSession(session=spec, instead=instead)]
        if found.view.run.hold is not Hold.NONE:
            commands.insert(0, Resume())  # of a session that is over
        now = project.clock.now()
        events: list[Event] = [] if found.exists else [found.view.run.opened]
        events += [Commanded(at=now, command=command) for command in commands]
        try:
            await project.journal.append(
                *(Entry(run, event) for event in events), expect=found.cursor
            )
        except StaleError:
            continue
        return


def _refuse_start(project: Project, thread: str, found: ThreadSnapshot, *, instead: bool) -> None:
    if found.helm.hold is Hold.STOPPED:
        raise AllstopError("Allstop is in force", "`allstop resume` lifts it")
    if found.view.run.closed is not None:
        raise AllstopError(f"the thread {thread!r} is over", "name another with --thread")
    session = found.room.session
    if session is None:
        return
    if run_of(thread) in project.journal.holders():
        hint = "say Allstop in it, or name another with --thread"
        raise AllstopError(f"a session is active in the thread {thread!r}", hint)
    if not instead:
        hint = "--resume goes on with it, --instead ends it and begins this one"
        raise AllstopError(
            f"a session in the thread {thread!r} was interrupted at turn {session.round}", hint
        )


# --- what people type ---


class InputResult(NamedTuple):
    """What came of something that was typed."""

    began: SessionSpec | None = None
    stopped: bool = False  # an active session
    note: str = ""  # for who typed it


async def handle_input(project: Project, thread: str, text: str) -> InputResult:
    """Do what a person means by it.

    Raises:
        AllstopError: it can't be done.
    """
    found = await read(project, thread)
    session = found.room.session
    match parse_input(text):
        case StopWord():
            return await stop(project, thread)
        case InvalidInput(problem=problem, hint=hint):
            raise AllstopError(problem, hint)
        case StartRequest(mode=mode, agents=agents, goal=goal):
            spec = session_spec(project, SessionRequest(goal, mode, agents))
            return InputResult(began=spec)
        case Message(text=words) if session is not None:
            await send_to_thread(project, thread, Say(text=words))
            return InputResult()
        case Message(text=words):
            return InputResult(began=_single_session(project, words))


def _single_session(project: Project, words: str) -> SessionSpec:
    """Without a session, who is named is asked once; its handoff may go to anybody."""
    names = tuple(AgentName(name) for name in project.settings.agents)
    to = mentioned_agent(words, names)
    if to is None:
        example = names[0] if names else "gpt"
        raise AllstopError("nobody is asked", f"name an agent: @{example} {words[:40]}")
    pair = default_agents(project.settings)
    table = pair if to in pair else (to, *pair)
    return session_spec(project, SessionRequest(words, TalkMode.SINGLE, table, to))


async def stop(project: Project, thread: str, by: str = "user") -> InputResult:
    """Allstop for one thread; where nobody speaks it is only noted."""
    while not (found := await read(project, thread)).exists:
        with suppress(StaleError):
            opened = Entry(run_of(thread), found.view.run.opened)
            await project.journal.append(opened, expect=found.cursor)
    if found.view.run.closed is None:
        await send_to_thread(project, thread, Allstop(), by)
    active = found.room.session is not None
    return InputResult(
        stopped=active, note="" if active else "no session is active: nothing to stop"
    )


async def stop_undriven_sessions(project: Project, silent: Collection[int]) -> None:
    """Sessions that nobody drives but processes which don't answer end with an Allstop too."""
    holders = project.journal.holders()
    driven = {run for run, by in holders.items() if by is None or by.pid not in silent}
    for head in await project.journal.heads():
        thread = thread_of(head.run)
        while thread and head.run not in driven:
            found = await read(project, thread)
            if found.room.session is None or not must_record_stop(
                PILOT, found.view.run, found.helm, found.helm.stops
            ):
                break
            stopped = Stopped(at=project.clock.now(), stops=found.helm.stops)
            with suppress(StaleError):
                await project.journal.append(Entry(head.run, stopped), expect=found.cursor)


async def cancel(project: Project, thread: str) -> InputResult:
    """The Stop button of Collaborate."""
    found = await read(project, thread)
    if found.room.session is None:
        return InputResult(note="no session is active: nothing to cancel")
    await send_to_thread(project, thread, Interrupt())
    return InputResult(stopped=True)


async def send_to_thread(project: Project, thread: str, command: Command, by: str = "user") -> None:
    await send_command(project.journal, project.clock, run_of(thread), command, by)
