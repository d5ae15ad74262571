"""Threads of rooms: reading them, starting sessions, handling typed text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from allstop.app.runs.commands import allstop_in_force
from allstop.core.commands import Allstop, Command, Interrupt, Resume, Say, StartSession
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded, Event, MoveStarted, Opened, Stopped
from allstop.core.helm import Helm, Hold
from allstop.core.helm import fold as fold_helm
from allstop.core.ids import HELM, AgentName, RunId
from allstop.core.room_specs import ALL, YOU, SessionSpec, TalkMode
from allstop.core.run import must_record_stop
from allstop.engine.send import send_command
from allstop.ports import Cursor, Entry, Holder, StaleError
from allstop.rooms.pilot import RoomPilot
from allstop.rooms.session import RoomState, mentioned_agent
from allstop.rooms.typed_input import InvalidInput, Message, StartRequest, StopWord, parse_input
from allstop.views.rooms import RoomEvent, RoomView

if TYPE_CHECKING:
    from allstop.app.project import Project

PILOT = RoomPilot()
THREAD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PREFIX = "room:"
_ADDRESS = re.compile(r"@([A-Za-z0-9_-]+)")


def run_of(thread: str) -> RunId:
    """Raises AllstopError if that is no valid name for a thread."""
    if not THREAD_NAME.fullmatch(thread):
        hint = "use at most 64 letters, digits, dots, dashes and underscores"
        raise AllstopError(f"{thread!r} is no name for a thread", hint, code="bad_thread_name")
    return RunId(_PREFIX + thread)


def thread_of(run: RunId) -> str | None:
    return run.removeprefix(_PREFIX) if run.startswith(_PREFIX) else None


# --- reading ---


class ThreadSnapshot(NamedTuple):
    """A thread at the moment it was read."""

    view: RoomView
    events: list[RoomEvent]
    cursor: Cursor
    exists: bool
    helm: Helm
    stops_seen: int  # the Allstops before the session, or its last turn, began

    @property
    def room(self) -> RoomState:
        return self.view.room

    @property
    def is_stopped(self) -> bool:
        """Whether an Allstop has ended the session, and its journal doesn't show that yet."""
        return self.room.session is not None and must_record_stop(
            PILOT, self.view.run, self.helm, self.stops_seen
        )


async def read(project: Project, thread: str) -> ThreadSnapshot:
    run = run_of(thread)
    helm = list(await project.journal.read(HELM)) if project.has_store else []
    records = await project.journal.read(run) if project.has_store else []
    opened = records[0].event if records else _opened(project, thread)
    assert isinstance(opened, Opened), "a journal starts with Opened"
    view = RoomView(PILOT, opened)
    events = [event for record in records[1:] for event in view.take(record.event)]
    cursor = Cursor(run, len(records), helm[-1].seq if helm else 0)
    orders = [record.event for record in helm]
    return ThreadSnapshot(
        view,
        events,
        cursor,
        exists=bool(records),
        helm=fold_helm(orders),
        stops_seen=_stops_seen([record.event for record in records], orders),
    )


def _stops_seen(events: Sequence[Event], helm: Sequence[Event]) -> int:
    """The number of Allstops before the last start of a session or turn in this thread."""
    for event in reversed(events):
        if isinstance(event, MoveStarted) or (
            isinstance(event, Commanded) and isinstance(event.command, StartSession)
        ):
            before = fold_helm(each for each in helm if each.at <= event.at).stops
            return max(before, event.helm_stops if isinstance(event, MoveStarted) else 0)
    return 0


def _opened(project: Project, thread: str) -> Opened:
    spec: dict[str, object] = {"thread": thread}
    return Opened(at=project.clock.now(), kind="room", spec=spec, title=f"room, thread {thread}")


async def start(project: Project, thread: str, spec: SessionSpec, *, instead: bool = False) -> None:
    """Start a session; a thread has at most one.

    Raises AllstopError if there is one already, or an Allstop is in force.
    """
    run = run_of(thread)
    while True:
        found = await read(project, thread)
        _refuse_start(project, thread, found, instead=instead)
        commands: list[Command] = [StartSession(session=spec, instead=instead)]
        if found.view.run.hold is not Hold.NONE:
            commands.insert(0, Resume())  # the hold is of an earlier session
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
        raise allstop_in_force()
    if found.view.run.closed is not None:
        hint = "name another with --thread"
        raise AllstopError(f"the thread {thread!r} is over", hint, code="thread_over")
    session = found.room.session
    if session is None:
        return
    if run_of(thread) in project.journal.holders():
        hint = "say Allstop in it, or name another with --thread"
        message = f"a session is active in the thread {thread!r}"
        raise AllstopError(message, hint, code="session_active")
    if not instead:
        hint = "--resume continues it, --instead ends it and starts this one"
        message = f"a session in the thread {thread!r} was interrupted at turn {session.round}"
        raise AllstopError(message, hint, code="session_interrupted")


# --- typed text ---


class InputResult(NamedTuple):
    """The result of text that a person typed."""

    began: SessionSpec | None = None  # the session that the caller must start
    stopped: bool = False  # an active session was stopped
    note: str = ""  # for the person


async def handle_input(project: Project, thread: str, text: str) -> InputResult:
    """Handle text that a person typed in the room. Raises AllstopError if the text is invalid."""
    found = await read(project, thread)
    session = found.room.session
    match parse_input(text):
        case StopWord():
            return await stop(project, thread)
        case InvalidInput(problem=problem, hint=hint):
            raise AllstopError(problem, hint, code="bad_room_input")
        case StartRequest(mode=mode, agents=agents, goal=goal):
            from allstop.app.rooms.session_spec import SessionRequest, session_spec

            spec = session_spec(project, SessionRequest(goal, mode, agents))
            return InputResult(began=spec)
        case Message(text=message) if session is not None:
            _refuse_unknown_address(message, session.agents)
            await send_to_thread(project, thread, Say(text=message))
            return InputResult()
        case Message(text=message):
            return InputResult(began=_single_session(project, message))


def _refuse_unknown_address(text: str, agents: Sequence[AgentName]) -> None:
    """Raises AllstopError if the text begins with @NAME, and NAME is not among the agents."""
    found = _ADDRESS.match(text)
    if found is None or found[1].lower() in (ALL, YOU, *(agent.lower() for agent in agents)):
        return
    message, hint = f"there is no {found[1]!r} in this room", f"in it: {', '.join(agents)}"
    raise AllstopError(message, hint, code="agent_not_in_room")


def _single_session(project: Project, text: str) -> SessionSpec:
    """A session that asks the mentioned agent once; it may hand off to any agent in it."""
    names = tuple(AgentName(name) for name in project.settings.agents)
    _refuse_unknown_address(text, names)
    to = mentioned_agent(text, names)
    if to is None:
        hint = f"name an agent: @{names[0] if names else 'gpt'} {text[:40]}"
        raise AllstopError("the message names no agent", hint, code="no_agent_mentioned")
    from allstop.app.rooms.session_spec import SessionRequest, default_agents, session_spec

    pair = default_agents(project.settings)
    agents = pair if to in pair else (to, *pair)
    return session_spec(project, SessionRequest(text, TalkMode.SINGLE, agents, to))


async def stop(project: Project, thread: str, by: str = "user") -> InputResult:
    """Allstop for one thread; it is recorded even if no session is active."""
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


async def stop_undriven_sessions(project: Project, silent: Collection[Holder] = ()) -> None:
    """Record Allstops in the sessions that they ended and that no process drives.

    The processes `silent` don't count: they were killed.
    """
    holders = project.journal.holders()
    driven = {run for run, by in holders.items() if by is None or by not in silent}
    for head in await project.journal.heads():
        thread = thread_of(head.run)
        while thread and head.run not in driven:
            found = await read(project, thread)
            if not found.is_stopped:
                break
            stopped = Stopped(at=project.clock.now(), stops=found.helm.stops)
            with suppress(StaleError):
                await project.journal.append(Entry(head.run, stopped), expect=found.cursor)


async def cancel(project: Project, thread: str) -> InputResult:
    """End the session: the Stop button of Collaborate."""
    found = await read(project, thread)
    if found.room.session is None:
        return InputResult(note="no session is active: nothing to cancel")
    await send_to_thread(project, thread, Interrupt())
    return InputResult(stopped=True)


async def send_to_thread(project: Project, thread: str, command: Command, by: str = "user") -> None:
    await send_command(project.journal, project.clock, run_of(thread), command, by)
