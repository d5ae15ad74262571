"""A session of a room: next speaker, caps, endings and notices."""

import re
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.context_window import CHARS_PER_TOKEN, CallPace, Window, estimate
from allstop.core.ids import AgentName
from allstop.core.moves import FailureKind, Usage
from allstop.core.prompt import Part
from allstop.core.retries import NO_STREAK, LimitStreak
from allstop.core.room_specs import (
    AUTOPILOT,
    CANCELED,
    RUNNING,
    STOPPED,
    SUGGESTS,
    Ending,
    Notice,
    NoticeKind,
    SessionSpec,
    TalkMode,
)
from allstop.core.text import counted
from allstop.rooms.envelope import Reply
from allstop.rooms.outages import Outages
from allstop.rooms.repetition import REMEMBERED, fingerprint

MOST_TOKENS = 10**9
"""Maximum plausible token count of one turn."""

_ADDRESSED = re.compile(r"(?:^|\s)@([A-Za-z0-9_.-]+)")


class Session(Struct, frozen=True, gc=False, kw_only=True):
    spec: SessionSpec
    agents: tuple[AgentName, ...]
    speaker: AgentName  # the agent whose turn it is
    window: Window
    goal: Part
    task: str = ""  # the task in the handoff to the speaker
    called: AgentName | None = None  # the next speaker that a person named
    began: datetime | None = None  # start of the current turn
    prompt_chars: int = 0
    turns: int = 0
    tokens: int = 0
    cost_microusd: int = 0
    ran_s: float = 0.0  # time in turns, without waits for limits and people
    spoke: dict[str, int] = {}
    suggested: bool = False  # an agent suggested to finish
    failures: int = 0
    standstill: LimitStreak = NO_STREAK
    wait_until: datetime | None = None
    waits_for: str = ""
    prints: tuple[str, ...] = ()
    circled: str = ""  # the repetition that was last reported
    paused: str = ""  # why the session waits for a person
    paused_by: FailureKind | None = None  # the failure that led to the pause
    outages: Outages = {}  # from edition 2 on
    estimated: int = 0  # the part of `tokens` that was estimated for calls without an end

    @property
    def round(self) -> int:
        return self.turns + 1

    @property
    def seconds_left(self) -> float:
        return self.spec.guards.max_minutes * 60 - self.ran_s


class Summary(Struct, frozen=True, gc=False, kw_only=True):
    """The summary of an ended session."""

    session: str
    mode: TalkMode
    goal: str
    reason: Ending
    detail: str
    turns: int
    tokens: int
    cost_microusd: int
    seconds: float
    spoke: dict[str, int]
    suggested_finish: bool
    estimated_tokens: int = 0  # the part of `tokens` that was estimated for calls without an end


class RoomSpec(Struct, frozen=True, gc=False, kw_only=True):
    thread: str


class RoomState(Struct, frozen=True, gc=False, kw_only=True):
    spec: RoomSpec
    talk: Window = Window()  # over the whole thread, for single answers
    session: Session | None = None
    last: Summary | None = None  # of the latest ended session
    threads: dict[AgentName, str] = {}  # conversation ids of the agents
    paces: dict[AgentName, CallPace] = {}
    chars_a_token: float = CHARS_PER_TOKEN
    news: tuple[Notice, ...] = ()  # notices about the last event
    title: str = ""  # the goal of the first session
    changed_at: datetime | None = None  # when the latest session began or ended


def refusal(spec: SessionSpec) -> str:
    """Why a session can't start; "" if it can."""
    if len(set(spec.agents)) < len(spec.seats):
        return "an agent is listed twice"
    if spec.first not in spec.agents:
        return f"the first speaker {spec.first!r} is not in the room"
    return ""


def max_rounds(spec: SessionSpec) -> int | None:
    """The number of rounds after which a session ends; None for Autopilot."""
    if spec.mode is AUTOPILOT:
        return None
    is_single = spec.mode is TalkMode.SINGLE
    return 2 if is_single else spec.max_rounds  # single: the answer and one handoff


def mentioned_agent(text: str, agents: tuple[AgentName, ...]) -> AgentName | None:
    """The first agent of the room that the text mentions with @."""
    names = {agent.lower(): agent for agent in agents}
    for found in _ADDRESSED.finditer(text):
        name = found[1].rstrip(".-").lower()
        if name in names:
            return names[name]
    return None


def next_speaker(agents: tuple[AgentName, ...], agent: AgentName) -> AgentName:
    """The agent after this one in the order of the room."""
    return agents[(agents.index(agent) + 1) % len(agents)]


def charged_usage(usage: Usage, chars_in: int, chars_out: int, chars_a_token: float) -> Usage:
    """The reported usage of a turn, or an estimate if the report isn't plausible."""
    if _is_plausible(usage):
        return usage
    return Usage(
        input=estimate(chars_in, chars_a_token),
        output=estimate(chars_out, chars_a_token),
        cost_microusd=max(0, usage.cost_microusd),
        model=usage.model,
    )


def _is_plausible(usage: Usage) -> bool:
    counts = (usage.input, usage.output, usage.cached, usage.cost_microusd)
    is_used = usage.input > 0 or usage.output > 0
    return is_used and min(counts) >= 0 and max(counts) <= MOST_TOKENS


def after_reply(
    session: Session, agent: AgentName, reply: Reply, used: Usage, took_s: float, window: Window
) -> tuple[Session, AgentName | None, tuple[Notice, ...]]:
    """The session after a reply, the handoff's target and the notices."""
    before = session
    to, dropped = handoff_target(session, agent, reply)
    speaker = session.called or to or next_speaker(session.agents, agent)
    session = replace(
        session,
        window=window,
        speaker=speaker,
        task=reply.handoff.task if reply.handoff is not None and to == speaker else "",
        began=None,
        turns=session.turns + 1,
        tokens=session.tokens + used.tokens,
        cost_microusd=session.cost_microusd + used.cost_microusd,
        ran_s=session.ran_s + took_s,
        spoke={**session.spoke, agent: session.spoke.get(agent, 0) + 1},
        suggested=session.suggested or reply.final,
        failures=0,
        standstill=NO_STREAK,
        prints=(*session.prints[1 - REMEMBERED :], fingerprint(reply.message)),
    )
    news = []
    if reply.repaired:
        news.append(_warning(f"{agent}'s reply was repaired: {reply.repaired}."))
    if reply.malformed:
        news.append(
            _warning(f"{agent} didn't answer in the expected format; its text is shown as is.")
        )
    if reply.final and not final_ends(session.spec):
        news.append(Notice(kind=NoticeKind.SUGGESTION, text=SUGGESTS))
    if _needs_reminder(before, session):
        news.append(Notice(kind=NoticeKind.REMINDER, text=RUNNING))
    if dropped:
        news.append(_warning(dropped))
    return session, to, tuple(news)


def _warning(text: str) -> Notice:
    return Notice(kind=NoticeKind.WARNING, text=text)


def _needs_reminder(before: Session, after: Session) -> bool:
    guards = after.spec.guards
    turns, tokens = guards.soft_turns, guards.soft_tokens
    return after.spec.mode is AUTOPILOT and (
        (turns > 0 and before.turns // turns < after.turns // turns)
        or (tokens > 0 and before.tokens // tokens < after.tokens // tokens)
    )


def after_failed_turn(session: Session, used: Usage, took_s: float) -> Session:
    """The session after a failed turn, which is charged all the same."""
    tokens = used.tokens if _is_plausible(used) else 0
    speaker = session.called or session.speaker
    return replace(
        session,
        began=None,
        speaker=speaker,
        task=session.task if speaker == session.speaker else "",
        tokens=session.tokens + tokens,
        cost_microusd=session.cost_microusd + max(0, used.cost_microusd),
        ran_s=session.ran_s + took_s,
    )


def charge_cut_call(session: Session, used: Usage, chars_a_token: float) -> Session:
    """Charge the prompt of a call without an end by estimate, if no usage is reported."""
    if _is_plausible(used):
        return session
    tokens = estimate(session.prompt_chars, chars_a_token)
    return replace(session, tokens=session.tokens + tokens, estimated=session.estimated + tokens)


def final_ends(spec: SessionSpec) -> bool:
    return spec.mode is not AUTOPILOT or spec.respect_final


def handoff_target(
    session: Session, agent: AgentName, reply: Reply
) -> tuple[AgentName | None, str]:
    """The handoff's target, or a warning why the handoff is dropped."""
    if reply.handoff is None or (reply.final and final_ends(session.spec)):
        return None, ""
    to = reply.handoff.to
    if to == agent:
        return None, f"{agent} handed over to itself: the handoff was dropped."
    seat = session.spec.seat(to)
    if seat is None:
        return None, f"{agent} handed over to {to!r}, which is not in the room: it was dropped."
    return seat.agent, ""


def ending(
    session: Session, reply: Reply, to: AgentName | None, agent: AgentName
) -> tuple[Ending | None, str]:
    """The reason and detail if the session ends after a turn of `agent`."""
    spec = session.spec
    if reply.final and final_ends(spec):
        return Ending.FINAL, f"{agent} says it is done"
    most = max_rounds(spec)
    if most is not None and to is None and session.called is None:
        is_odd = reply.malformed or reply.handoff is not None
        if is_odd and spec.mode is not TalkMode.SINGLE:  # a single question is answered anyway
            return Ending.MALFORMED, f"{agent}'s reply has no usable handoff"
        return Ending.NO_HANDOFF, f"{agent} made no handoff"
    if most is not None and session.turns >= most:
        return Ending.CAP_REACHED, f"{session.turns} of {most} rounds"
    guard = reached_cap(session)
    return (Ending.EMERGENCY_CAP, guard) if guard else (None, "")


def reached_cap(session: Session) -> str:
    """The reached emergency cap with its value; "" if none is reached."""
    guards = session.spec.guards
    seat = session.spec.seat(session.speaker)
    reserve = (seat.max_tokens or 0) if seat else 0
    if session.turns >= guards.max_turns:
        return f"room.max_turns = {guards.max_turns}"
    if session.tokens >= guards.max_tokens or session.tokens + reserve > guards.max_tokens:
        return f"room.max_tokens = {guards.max_tokens:,}"
    if session.seconds_left <= 0:
        return minutes_cap(session.spec)
    if guards.cost_microusd is not None and session.cost_microusd >= guards.cost_microusd:
        return f"room.cost_usd = {guards.cost_microusd / 1e6:.2f}"
    return ""


def minutes_cap(spec: SessionSpec) -> str:
    return f"room.max_minutes = {spec.guards.max_minutes:g}"


# --- texts ---


def opening_text(spec: SessionSpec) -> str:
    table = ", ".join(spec.agents)
    most = max_rounds(spec)
    match spec.mode:
        case TalkMode.SINGLE:
            return f"Single: {spec.first} is asked."
        case TalkMode.COLLABORATE:
            return f"Collaborate: {table}, at most {most} rounds; {spec.first} begins."
        case TalkMode.AUTOPILOT:
            return f"Autopilot: {table}, until Allstop; {spec.first} begins."


def summary(session: Session, reason: Ending, detail: str) -> Summary:
    spec = session.spec
    return Summary(
        session=spec.id,
        mode=spec.mode,
        goal=spec.goal,
        reason=reason,
        detail=detail,
        turns=session.turns,
        tokens=session.tokens,
        cost_microusd=session.cost_microusd,
        seconds=session.ran_s,
        spoke=session.spoke,
        suggested_finish=session.suggested,
        estimated_tokens=session.estimated,
    )


def closing_text(summary: Summary) -> str:
    """The notice at the end of a session."""
    match summary.reason:
        case Ending.STOPPED_BY_USER:
            return STOPPED
        case Ending.CANCELED_BY_USER:
            return CANCELED
        case Ending.EMERGENCY_CAP:
            return f"Collaboration stopped: emergency cap ({summary.detail})."
        case Ending.AGENT_FAILED:
            return f"Collaboration stopped: {summary.detail}."
        case Ending.INTERRUPTED:
            return "Collaboration ended: it was interrupted, and another session began."
        case Ending.FINAL | Ending.NO_HANDOFF | Ending.CAP_REACHED | Ending.MALFORMED if (
            summary.mode is TalkMode.SINGLE
        ):
            return "Answered."
        case Ending.MALFORMED:
            return f"Collaboration ended: {summary.detail}."
        case Ending.CAP_REACHED:
            return f"Collaboration ended: cap reached ({summary.detail})."
        case Ending.FINAL | Ending.NO_HANDOFF as reason:
            return f"Collaboration ended: {reason.value.replace('_', ' ')} ({summary.detail})."


def summary_text(summary: Summary) -> str:
    minutes, seconds = divmod(round(summary.seconds), 60)
    only_suggested = summary.suggested_finish and summary.reason is not Ending.FINAL
    spoke = ", ".join(f"{agent} {count}" for agent, count in summary.spoke.items()) or "nobody"
    cut = summary.estimated_tokens
    estimated = f" ({cut:,} of them estimated for a call that was cut)" if cut else ""
    parts = [
        f"Session summary: {summary.reason}",
        counted(summary.turns, "turn"),
        f"{summary.tokens:,} tokens{estimated}",
        f"${summary.cost_microusd / 1e6:.4f}" if summary.cost_microusd else "",
        f"{minutes} min {seconds} s" if minutes else f"{seconds} s",
        f"spoke: {spoke}",
        "an agent suggested finishing" if only_suggested else "",
    ]
    return " · ".join(part for part in parts if part)
