"""The thread of a room as a kind of run."""

from datetime import datetime

from msgspec import Struct

from allstop.core.events import Opened
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.moves import Outcome
from allstop.core.room_specs import Ending
from allstop.core.run import RunState
from allstop.rooms.pilot import RoomPilot
from allstop.rooms.session import RoomState, Session, Summary
from allstop.views.kind import Kind
from allstop.views.room_summary import RoomSummary, room_summary
from allstop.views.rooms import LiveRoom, RoomEvent, call_id
from allstop.views.runs import RunView

ENDED_BADLY = {
    Ending.STOPPED_BY_USER: Outcome.ABORTED,
    Ending.CANCELED_BY_USER: Outcome.ABORTED,
    Ending.AGENT_FAILED: Outcome.FAILED,
    Ending.MALFORMED: Outcome.FAILED,
    Ending.EMERGENCY_CAP: Outcome.TIMED_OUT,
}


def outcome_of(session: Summary) -> Outcome:
    return ENDED_BADLY.get(session.reason, Outcome.DONE)


class RoomKind(Kind):
    pilot = RoomPilot()
    has_sessions = True
    message_event = "room"
    message_type = RoomEvent
    is_endless = True
    detail_type = RoomSummary
    detail_event = "talk"

    def begin(self, opened: Opened) -> LiveRoom:
        return LiveRoom(self.pilot, opened)

    def resume_command(self, run: RunId, opened: Opened) -> str:
        return f"allstop room --resume --thread {opened.spec['thread']}"

    def takes_effect(self, called: str, run: RunId, state: RunState[RoomState]) -> str:
        if state.pilot.session is None:
            return (
                "No session is open. A new session starts without it; a single answer includes it."
            )
        resume = self.resume_command(run, state.opened)
        return f"No process drives {called}: it takes effect after `{resume}`."

    def kept_after_abort(self, called: str) -> str:
        return f"; its messages are kept: `allstop log {called}`"

    def call_id(self, state: RunState[RoomState]) -> str:
        move = state.open_move
        return call_id(state.pilot.spec.thread, move.id) if move is not None else ""

    def detail(
        self, run: RunId, state: RunState[RoomState], view: Struct, helm: Helm, now: datetime
    ) -> RoomSummary:
        assert isinstance(view, RunView)
        return room_summary(state.pilot, view)

    def session(self, state: RunState[RoomState]) -> Session | None:
        return state.pilot.session

    def last_session(self, state: RunState[RoomState]) -> Summary | None:
        return state.pilot.last if state.pilot.session is None else None

    def rest_outcome(self, state: RunState[RoomState], since: datetime | None) -> Outcome | None:
        if state.pilot.session is not None:
            return None
        return outcome_of(state.pilot.last) if state.pilot.last else Outcome.DONE
