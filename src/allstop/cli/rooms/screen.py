"""How a room is shown: as plain lines or JSON; `terminal` has the interactive form."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from datetime import datetime
from types import TracebackType
from typing import Protocol

from allstop.cli.output import echo, print_json_line
from allstop.cli.stdin_lines import piped_lines
from allstop.cli.times import with_local_times
from allstop.core.room_specs import NoticeKind, TalkMode
from allstop.core.text import plain
from allstop.ports import Live
from allstop.rooms.session import RoomState, max_rounds
from allstop.views.rooms import EventType, RoomEvent

_MARKS = {
    NoticeKind.NOTICE: "●",
    NoticeKind.REMINDER: "·",
    NoticeKind.SUGGESTION: "◆",
    NoticeKind.WARNING: "!",
    NoticeKind.ENDED: "■",
    NoticeKind.SUMMARY: " ",
    NoticeKind.CUT: "✂",
}


class RoomScreen(Protocol):
    @property
    def is_interactive(self) -> bool:
        """Whether a person can type."""
        ...

    def event(self, event: RoomEvent) -> None: ...
    def live(self, live: Live, call_id: str) -> None: ...
    def show_status(self, room: RoomState) -> None: ...
    def note(self, text: str) -> None: ...
    def typed(self) -> AsyncIterator[str]: ...


class PlainRoomScreen:
    """Prints each event as a line or paragraph once it is complete."""

    is_interactive = False

    def __enter__(self) -> PlainRoomScreen:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def event(self, event: RoomEvent) -> None:
        for line in event_lines(event):
            echo(line)

    def live(self, live: Live, call_id: str) -> None:
        if live.kind in ("trouble", "budget", "near"):
            self.note(live.text)

    def show_status(self, room: RoomState) -> None:
        pass

    def note(self, text: str) -> None:
        echo(plain(text), err=True)

    def typed(self) -> AsyncIterator[str]:
        return piped_lines(sys.stdin.fileno() if sys.stdin is not None else None)


class JsonRoomScreen(PlainRoomScreen):
    def event(self, event: RoomEvent) -> None:
        print_json_line(event)


def event_lines(event: RoomEvent) -> list[str]:
    """The printed lines of an event."""
    moment = datetime.fromtimestamp(event.ts).astimezone()
    at, text = f"{moment:%H:%M:%S}", plain(event.text)
    match event.type:
        case EventType.SYSTEM:
            mark = _MARKS[event.kind or NoticeKind.NOTICE]
            head, *rest = with_local_times(text, moment).split("\n")
            return [f"{at}  {mark} {head}", *(f"{'':10}{line}" for line in rest)]
        case EventType.HUMAN_MESSAGE:
            return [f"{at}  you: {text}"]
        case EventType.AGENT_RESPONSE:
            head, *rest = text.split("\n")
            return [f"{at}  {event.sender}: {head}", *(f"{'':10}{line}" for line in rest)]
        case EventType.AGENT_CALL:
            return []


def status_line(room: RoomState) -> str:
    """The state of a session in a few words."""
    session = room.session
    if session is None:
        return "no session"
    most = max_rounds(session.spec)
    if session.spec.mode is TalkMode.AUTOPILOT:
        where = f"Autopilot: running (turn {session.round})"
    else:
        name = "Single" if session.spec.mode is TalkMode.SINGLE else "Collab"
        where = f"{name}: {session.turns}/{most}"
    cost = f" · ${session.cost_microusd / 1e6:.4f}" if session.cost_microusd else ""
    who = f" · {session.speaker} speaks" if session.began else ""
    if session.paused or session.wait_until:
        until = f"{session.wait_until.astimezone():%H:%M:%S}" if session.wait_until else ""
        next_attempt = f"; next attempt at {until}" if session.spec.edition >= 2 else ""
        who = f" · waits: {session.paused or session.waits_for + next_attempt}"
    return f"{where}{who} · {session.tokens:,} tokens{cost}"
