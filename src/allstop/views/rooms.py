"""The events of a room as clients see them."""

from bisect import bisect_left
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct

from allstop.core import run
from allstop.core.commands import Allstop, Say, StartSession
from allstop.core.events import Commanded, Event, MoveEnded, MoveStarted, Noted, Opened
from allstop.core.ids import MoveId
from allstop.core.json_stream import MessageExtractor
from allstop.core.moves import CUT_TEXT, TakeTurn, TurnDone, Usage
from allstop.core.room_specs import ALL, ROUTER, YOU, NoticeKind
from allstop.core.run import Pilot, RunState
from allstop.rooms.envelope import read_envelope
from allstop.rooms.session import RoomState, Session, max_rounds, mentioned_agent
from allstop.views.live_state import LiveState

NOTHING_TO_STOP = "Allstop: no session is active here (no-op)."


class EventType(StrEnum):
    HUMAN_MESSAGE = "human_message"
    AGENT_CALL = "agent_call"
    AGENT_RESPONSE = "agent_response"
    SYSTEM = "system"


class RoomEvent(Struct, frozen=True, gc=False, kw_only=True):
    """One event of a room, in the format of the API."""

    type: EventType
    sender: str
    target: str
    thread: str
    text: str
    call_id: str
    ts: int  # seconds since the epoch
    seq: int  # of the journal event that it comes from
    session_id: str | None = None
    round: int | None = None
    max_rounds: int | None = None  # null in Autopilot
    kind: NoticeKind | None = None  # of a system message
    usage: Usage | None = None  # of a response


def call_id(thread: str, call: MoveId) -> str:
    """Return the id that a call, its reply and its streamed text share."""
    return f"{thread}-call-{call}"


class RoomView:
    """Folds a room's events and returns the room events for each."""

    def __init__(self, pilot: Pilot[RoomState], opened: Opened) -> None:
        self._pilot = pilot
        self.run: RunState[RoomState] = run.begin(pilot, opened)
        self.seq = 1

    @property
    def room(self) -> RoomState:
        return self.run.pilot

    def take(self, event: Event) -> list[RoomEvent]:
        """Return the room events for the next event of the journal."""
        before = self.run
        self.run = run.evolve(self._pilot, before, event)
        self.seq += 1
        session = before.pilot.session or self.room.session
        found = list(self._room_events(event, before, session))
        for notice in self.room.news:
            about = session if notice.kind is not NoticeKind.NOTICE else self.room.session
            found.append(self._system(event, notice.text, notice.kind, about))
        return found

    def _room_events(
        self, event: Event, before: RunState[RoomState], session: Session | None
    ) -> Iterator[RoomEvent]:
        match event:
            case Commanded(command=Say(text=text)):
                to = mentioned_agent(text, session.spec.agents) if session else None
                yield self._event(event, EventType.HUMAN_MESSAGE, YOU, to or ALL, text, session)
            case Commanded(command=StartSession(session=spec)) if self._has_begun(spec.id, before):
                begun = self.room.session
                yield self._event(event, EventType.HUMAN_MESSAGE, YOU, ROUTER, spec.goal, begun)
            case Commanded(command=Allstop()) if before.pilot.session is None:
                yield self._system(event, NOTHING_TO_STOP, NoticeKind.NOTICE, None)
            case MoveStarted(move=TakeTurn(agent=agent), id=call) if session is not None:
                text = session.task or session.spec.goal
                yield self._event(
                    event, EventType.AGENT_CALL, ROUTER, agent, text, session, call=call
                )
            case MoveEnded(result=TurnDone() as turn, id=call) if self._was_posted(before):
                assert before.pilot.session is not None, "it was posted"
                agent = before.pilot.session.speaker
                message = read_envelope(turn.text).message
                yield self._event(
                    event,
                    EventType.AGENT_RESPONSE,
                    agent,
                    ALL,
                    message,
                    before.pilot.session,
                    call=call,
                    usage=turn.usage,
                )
            case Noted(items=items, id=call) if (move := before.open_move) is not None:
                for item in items:
                    if item.kind == CUT_TEXT and isinstance(move.move, TakeTurn):
                        yield self._cut_text(event, move.move.agent, item.text, session, call)
            case _:
                pass

    def _cut_text(
        self, event: Event, agent: str, text: str, session: Session | None, call: MoveId
    ) -> RoomEvent:
        said = MessageExtractor().feed(text)
        text = f"{agent} was cut off. Its unfinished text, which no agent gets: {said}"
        kind = NoticeKind.CUT
        return self._event(event, EventType.SYSTEM, agent, ALL, text, session, call=call, kind=kind)

    def _has_begun(self, session_id: str, before: RunState[RoomState]) -> bool:
        now, then = self.room.session, before.pilot.session
        return now is not None and now.spec.id == session_id and (then is None or then is not now)

    def _was_posted(self, before: RunState[RoomState]) -> bool:
        return before.pilot.session is not None and self.room.talk is not before.pilot.talk

    def _system(
        self, event: Event, text: str, kind: NoticeKind, session: Session | None
    ) -> RoomEvent:
        return self._event(event, EventType.SYSTEM, ROUTER, ALL, text, session, kind=kind)

    def _event(
        self,
        event: Event,
        type_: EventType,
        sender: str,
        target: str,
        text: str,
        session: Session | None,
        *,
        call: MoveId | None = None,
        kind: NoticeKind | None = None,
        usage: Usage | None = None,
    ) -> RoomEvent:
        thread = self.room.spec.thread
        return RoomEvent(
            type=type_,
            sender=sender,
            target=target,
            thread=thread,
            text=text,
            call_id=call_id(thread, call) if call is not None else f"{thread}-{self.seq}",
            ts=int(event.at.timestamp()),
            seq=self.seq,
            session_id=session.spec.id if session else None,
            round=session.round if session else None,
            max_rounds=max_rounds(session.spec) if session else None,
            kind=kind,
            usage=usage,
        )


class LiveRoom(LiveState):
    """The state of a room with all its messages."""

    def __init__(self, pilot: Pilot[Any], opened: Opened) -> None:
        super().__init__(pilot, opened)
        self._view = RoomView(pilot, opened)
        self.messages: list[RoomEvent] = []

    def take(self, event: Event) -> None:
        self.last_at = event.at
        self.messages += self._view.take(event)
        self.state, self.seq = self._view.run, self._view.seq

    def messages_at(self, seq: int) -> list[RoomEvent]:
        start = bisect_left(self.messages, seq, key=lambda each: each.seq)
        end = bisect_left(self.messages, seq + 1, key=lambda each: each.seq)
        return self.messages[start:end]

    def messages_after(self, seq: int) -> list[RoomEvent]:
        return self.messages[bisect_left(self.messages, seq + 1, key=lambda each: each.seq) :]
