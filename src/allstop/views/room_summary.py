"""The state of a room in brief: its current session, or else its last."""

from datetime import datetime

from msgspec import Struct

from allstop.core.text import one_line
from allstop.rooms.outages import with_retry_time
from allstop.rooms.session import RoomState, Session, Summary, max_rounds
from allstop.views.runs import RunView


class SessionView(Struct, frozen=True, kw_only=True):
    """The open session of a room."""

    id: str
    mode: str
    goal: str
    agents: list[str]
    speaker: str
    round: int
    max_rounds: int | None
    turns: int
    tokens: int
    cost_usd: float
    waits_for: str
    respect_final: bool
    seconds: float  # spent in finished turns
    began: datetime | None  # when the running turn began


class RoomSummary(Struct, frozen=True, kw_only=True):
    """The state of a room; the stream sends it as `talk` after each change."""

    thread: str
    run: RunView
    session: SessionView | None
    last: Summary | None  # the latest finished session
    title: str = ""  # the goal of the first session
    changed_at: datetime | None = None  # when the latest session began or ended


MOST_TITLE = 200
"""Characters of a title."""


def room_summary(room: RoomState, run: RunView) -> RoomSummary:
    return RoomSummary(
        thread=room.spec.thread,
        run=run,
        session=_session(room.session) if room.session else None,
        last=room.last,
        title=one_line(room.title, MOST_TITLE),
        changed_at=room.changed_at,
    )


def _session(session: Session) -> SessionView:
    return SessionView(
        id=session.spec.id,
        mode=session.spec.mode.value,
        goal=session.spec.goal,
        agents=list(session.agents),
        speaker=session.speaker,
        round=session.round,
        max_rounds=max_rounds(session.spec),
        turns=session.turns,
        tokens=session.tokens,
        cost_usd=session.cost_microusd / 1e6,
        waits_for=_waits_for(session),
        respect_final=session.spec.respect_final,
        seconds=session.ran_s,
        began=session.began,
    )


def _waits_for(session: Session) -> str:
    until, text = session.wait_until, session.waits_for
    if until is None:
        return ""
    return with_retry_time(text, until) if session.spec.edition >= 2 else text
