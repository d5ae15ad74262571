"""The room pilot: lets agents discuss a goal until it is reached or a person stops them."""

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from allstop.core import context_window, room_specs
from allstop.core.brakes import elapsed_seconds
from allstop.core.commands import Abort, Allstop, Interrupt, Resume, Retry, Say, StartSession
from allstop.core.context_window import NO_CACHING, CachePricing, CallPace, Window, WindowSpec
from allstop.core.events import Commanded, Event, MoveEnded, MoveStarted, Stopped
from allstop.core.ids import AgentName
from allstop.core.moves import (
    LIMITED,
    RESUMABLE,
    Failed,
    FailureKind,
    Move,
    TakeTurn,
    TurnDone,
    Usage,
    Wait,
)
from allstop.core.prompt import (
    NOT_CACHED,
    CacheLifetime,
    Part,
    Prompt,
    StructuredPrompt,
    digest_of,
    part,
    prompt_with_digests,
)
from allstop.core.retries import NO_STREAK, retry_time
from allstop.core.run import PilotContext
from allstop.core.text import one_line
from allstop.rooms import outages
from allstop.rooms import session as sessions
from allstop.rooms.envelope import Reply, envelope_schema, read_envelope
from allstop.rooms.repetition import repetition_reason
from allstop.rooms.session import RoomSpec, RoomState, Session

RETRYABLE = frozenset(
    {
        FailureKind.NETWORK,
        FailureKind.OVERLOADED,
        FailureKind.UNAVAILABLE,
        FailureKind.CRASHED,
        FailureKind.EXITED,
        FailureKind.STALLED,
        FailureKind.TIMED_OUT,
    }
)
"""Failures that are worth a retry."""

THREAD = WindowSpec()
"""The window over a whole thread, for single answers; its edition is that of the session."""


class RoomPilot:
    kind = "room"
    ends_when_stopped = True
    needs_slots = False

    def begin(self, spec: dict[str, object]) -> RoomState:
        return RoomState(spec=msgspec.convert(spec, RoomSpec))

    def evolve(self, state: RoomState, event: Event) -> RoomState:
        after = self._evolve(replace(state, news=()) if state.news else state, event)
        is_same = _session_id(after) == _session_id(state)
        return after if is_same else replace(after, changed_at=event.at)

    def _evolve(self, state: RoomState, event: Event) -> RoomState:
        match event:
            case MoveStarted(move=TakeTurn() as begun):
                return _turn_started(state, begun.agent, begun.prompt.chars, event.at)
            case MoveEnded(result=TurnDone() as done):
                return _turn_done(_without_held_time(state, event.held_s), done, event.at)
            case MoveEnded(result=Failed() as failed):
                return _turn_failed(_without_held_time(state, event.held_s), failed, event.at)
            case Commanded(command=Say(text=text)):
                return _person_spoke(state, text)
            case Commanded(command=Resume() | Retry()) if state.session is not None:
                return replace(state, session=_tried_now(_unpaused(state.session)))
            case Commanded(command=StartSession() as start, at=at):
                return _start_session(state, start, at)
            case Commanded(command=Allstop() | Abort(), at=at) | Stopped(at=at):
                return _end_session(_charge_cut_turn(state, at), room_specs.Ending.STOPPED_BY_USER)
            case Commanded(command=Interrupt(), at=at):
                return _end_session(_charge_cut_turn(state, at), room_specs.Ending.CANCELED_BY_USER)
            case _:
                return state

    def undelivered(self, state: RoomState) -> tuple[str, ...]:
        return ()  # later speakers see a message in the transcript

    def next_move(self, state: RoomState, context: PilotContext) -> Move:
        session = state.session
        if session is None:
            return Wait(reason="no session is active", idle=True)
        if session.paused:
            return Wait(reason=session.paused, for_person=True, failure=session.paused_by)
        if session.wait_until is not None and context.now < session.wait_until:
            return Wait(reason=session.waits_for, until=session.wait_until)
        seat = session.spec.seat(session.speaker)
        assert seat is not None, "the speaker is in the room"
        return TakeTurn(
            agent=seat.agent,
            prompt=_prompt(state, session, seat),
            thread=state.threads.get(seat.agent),
            timeout_s=min(seat.turn_s, max(0.0, session.seconds_left)),
            idle_s=seat.idle_s,
            max_tokens=seat.max_tokens,
        )


def _session_id(state: RoomState) -> str:
    return state.session.spec.id if state.session else ""


# --- prompts ---


def _prompt(state: RoomState, session: Session, seat: room_specs.Seat) -> Prompt:
    """The goal, the latest items and the round; known digests are reused."""
    spec = session.spec
    pace, lifetime = _pace(state, session, seat.agent, seat.memory)
    window, goal = session.window, session.goal
    if not pace.is_elastic:
        window = context_window.newest(window, spec.window, state.chars_a_token)
    notes = f"{room_specs.round_part(spec.mode, session.round, sessions.max_rounds(spec))}\n{room_specs.JSON_ONLY}"
    talk = StructuredPrompt(
        system=room_specs.system_prompt(seat.agent, session.agents),
        parts=_parts(goal, window.parts, Part(text=notes), lifetime),
        lifetime=lifetime,
        reply_schema=envelope_schema(
            tuple(agent for agent in session.agents if agent != seat.agent)
        ),
    )
    digests = f"{goal.digest}{window.digests}{digest_of(notes)}"
    return prompt_with_digests(talk, digests, len(goal.text) + window.chars + len(notes))


def _parts(
    goal: Part, said: tuple[Part, ...], notes: Part, lifetime: CacheLifetime
) -> tuple[Part, ...]:
    """Mark the end of the part that stays the same, for the provider's cache."""
    if lifetime is NOT_CACHED:
        return (goal, *said, notes)
    goal = replace(goal, keep=True)
    if not said:
        return (goal, notes)
    return (goal, *said[:-1], replace(said[-1], keep=True), notes)


def _pace(
    state: RoomState, session: Session, agent: AgentName, memory: CachePricing
) -> tuple[CallPace, CacheLifetime]:
    """Whether this agent's window is elastic, and how long its provider should cache it.

    It is decided again when the window's front changes, or when the agent's turns are too far apart
    for a cache.
    """
    pace = state.paces.get(agent, UNPACED)
    kept = context_window.lifetime(memory, pace.gap_s)
    if pace.cuts == session.window.cuts:
        if not pace.is_elastic:
            return pace, NOT_CACHED
        if kept is not NOT_CACHED:
            return pace, kept
    spec = session.spec
    count = len(session.window.parts)
    mean = session.window.chars / count if count else TYPICAL_CHARS
    front = len(room_specs.system_prompt(agent, session.agents)) + len(spec.goal)
    is_elastic = context_window.is_growing_cheaper(
        spec.window,
        memory,
        kept,
        front=front / state.chars_a_token,
        item=mean / state.chars_a_token,
        step=max(2.0, float(len(spec.seats))),
    )
    pace = replace(pace, is_elastic=is_elastic, cuts=session.window.cuts)
    return pace, kept if is_elastic else NOT_CACHED


TYPICAL_CHARS = 600
"""Assumed length of a message before the first one."""

UNPACED = CallPace()


# --- folding events ---


def _start_session(state: RoomState, start: StartSession, at: datetime) -> RoomState:
    spec = start.session
    if refusal := sessions.refusal(spec):
        return _with_notice(
            state, room_specs.NoticeKind.WARNING, f"{spec.id} was not started: {refusal}."
        )
    if state.session is not None:
        if not start.instead:
            text = f"A session is active: {spec.id} was not started."
            return _with_notice(state, room_specs.NoticeKind.WARNING, text)
        state = _end_session(state, room_specs.Ending.INTERRUPTED)
    is_chat = spec.mode is room_specs.TalkMode.SINGLE
    window = state.talk if is_chat else Window()
    session = Session(
        spec=spec,
        agents=spec.agents,
        speaker=spec.first,
        window=window,
        goal=part(room_specs.goal_part(spec.goal)),
    )
    said = part(room_specs.item_part(room_specs.YOU, spec.goal))
    talk = context_window.add(state.talk, said, _thread(session), state.chars_a_token)
    told = room_specs.Notice(kind=room_specs.NoticeKind.NOTICE, text=sessions.opening_text(spec))
    paces = {agent: replace(pace, cuts=-1) for agent, pace in state.paces.items()}
    threads = state.threads if is_chat else {}  # another goal starts new conversations
    news = (*state.news, told)
    state = replace(state, title=state.title or spec.goal)
    return replace(state, session=session, talk=talk, threads=threads, paces=paces, news=news)


def _person_spoke(state: RoomState, text: str) -> RoomState:
    state = _with_length_notice(
        _add_item(state, room_specs.item_part(room_specs.YOU, text)), "Your message", text
    )
    session = state.session
    if session is None:
        return state
    session = replace(_unpaused(session), prints=())
    to = sessions.mentioned_agent(text, session.agents)
    if to is not None:  # don't wait for the previous speaker's retry
        under_way = session.began is not None
        speaker = session.speaker if under_way else to
        task = session.task if speaker == session.speaker else ""
        session = replace(session, called=to, speaker=speaker, task=task, wait_until=None)
        session = _tried_now(session, to)
    return replace(state, session=session)


def _unpaused(session: Session) -> Session:
    """End a pause and reset the counters that led to it."""
    if not session.paused:
        return session
    session = replace(session, paused="", paused_by=None, prints=(), standstill=NO_STREAK)
    return _tried_now(session)


def _tried_now(session: Session, agent: AgentName | None = None) -> Session:
    """A person wants an agent, by default the speaker, to be called at once."""
    if session.spec.edition < 2:
        return session
    left = outages.tried_now(session.spec, session.outages, agent or session.speaker)
    return _with_wait(replace(session, outages=left))


def _with_wait(session: Session) -> Session:
    """Let the session wait for its speaker, if that can't be called yet."""
    outage = outages.outage_of(session.spec, session.outages, session.speaker)
    if outage is None:
        return replace(session, wait_until=None, waits_for="")
    return replace(session, wait_until=outage.until, waits_for=outage.text)


def _add_item(state: RoomState, text: str) -> RoomState:
    """Add an item to the transcript."""
    item = part(text)
    session = state.session
    talk = context_window.add(state.talk, item, _thread(session), state.chars_a_token)
    if session is not None:
        spec = session.spec.window
        window = context_window.add(session.window, item, spec, state.chars_a_token)
        session = replace(session, window=window)
    return replace(state, talk=talk, session=session)


def _thread(session: Session | None) -> WindowSpec:
    return replace(THREAD, edition=session.spec.window.edition) if session else THREAD


def _turn_started(state: RoomState, agent: AgentName, chars: int, at: datetime) -> RoomState:
    session = state.session
    if session is None:
        return state
    seat = session.spec.seat(agent)
    pace, _ = _pace(state, session, agent, seat.memory if seat else NO_CACHING)
    pace = context_window.record_call(pace, at)
    session = replace(session, began=at, prompt_chars=chars, wait_until=None, called=None)
    return replace(state, session=session, paces={**state.paces, agent: pace})


def _without_held_time(state: RoomState, held_s: float) -> RoomState:
    """Move the turn's start by the time for which it was held."""
    session = state.session
    if not held_s or session is None or session.began is None:
        return state
    began = session.began + timedelta(seconds=held_s)
    return replace(state, session=replace(session, began=began))


def _turn_done(state: RoomState, turn: TurnDone, at: datetime) -> RoomState:
    session = state.session
    if session is None or session.began is None:
        return state
    if not turn.text.strip():
        empty = Failed(kind=FailureKind.CRASHED, message="an empty reply", usage=turn.usage)
        return _turn_failed(state, empty, at)
    agent = session.speaker
    reply = read_envelope(turn.text)
    item = part(room_specs.item_part(agent, reply.message))
    chars_in = session.prompt_chars
    used = sessions.charged_usage(turn.usage, chars_in, len(turn.text), state.chars_a_token)
    chars_a_token = context_window.calibrated(state.chars_a_token, chars_in, turn.usage.input)
    window = context_window.add(session.window, item, session.spec.window, chars_a_token)
    took_s = elapsed_seconds(at - session.began)
    session, to, news = sessions.after_reply(session, agent, reply, used, took_s, window)
    threads = state.threads
    if turn.thread and threads.get(agent) != turn.thread:
        threads = {**threads, agent: turn.thread}
    talk = context_window.add(state.talk, item, _thread(session), chars_a_token)
    state = replace(
        state,
        session=session,
        talk=talk,
        threads=threads,
        chars_a_token=chars_a_token,
        news=news,
    )
    state = _with_length_notice(state, f"{agent}'s message", reply.message)
    state = _after_turn(state, session, agent, reply, to)
    return state if state.session is None else _after_answer(state, state.session, agent, at)


def _after_answer(state: RoomState, session: Session, agent: AgentName, at: datetime) -> RoomState:
    """The agent that answered can be called again; another one stands in for a failing speaker."""
    if session.spec.edition < 2:
        return state
    spec, left = session.spec, outages.after_success(session.spec, session.outages, agent)
    session = replace(session, outages=left)
    if outages.has_failed(spec, left, session.speaker, at):
        instead = outages.stand_in(spec, left, session.speaker, at)
        session = replace(session, speaker=instead, task="") if instead else session
    return replace(state, session=_with_wait(session))


def _after_turn(
    state: RoomState, session: Session, agent: AgentName, reply: Reply, to: AgentName | None
) -> RoomState:
    """End the session or pass the turn to the next speaker."""
    ending, detail = sessions.ending(session, reply, to, agent)
    if ending is not None:
        return _end_session(state, ending, detail)
    if to is not None and reply.handoff is not None:
        state = _add_item(state, room_specs.item_part(room_specs.ROUTER, reply.handoff.task, to))
    circling = repetition_reason(session.prints)
    return state if circling == session.circled else _repetition_changed(state, circling)


def _repetition_changed(state: RoomState, circling: str) -> RoomState:
    """The agents began or stopped repeating themselves."""
    session = state.session
    assert session is not None, "a turn has just ended"
    if not circling:
        return replace(state, session=replace(session, circled=""))
    waits = f"agents repeat themselves: {circling}" if session.spec.guards.pause_in_circles else ""
    session = replace(session, circled=circling, paused=waits)
    state = replace(state, session=session)
    return _with_notice(
        state, room_specs.NoticeKind.WARNING, f"Agents repeat themselves: {circling}."
    )


def _turn_failed(state: RoomState, failed: Failed, at: datetime) -> RoomState:
    session = state.session
    if session is None or session.began is None:
        return state
    is_ours = failed.kind in RESUMABLE
    lost = failed.kind is FailureKind.INTERRUPTED  # its duration is unknown
    took_s = 0.0 if lost else elapsed_seconds(at - session.began)
    if is_ours and session.spec.edition >= 2:
        session = sessions.charge_cut_call(session, failed.usage, state.chars_a_token)
    agent = session.speaker
    session = sessions.after_failed_turn(session, failed.usage, took_s)
    state = replace(state, session=session)
    if guard := sessions.reached_cap(session):
        return _end_session(state, room_specs.Ending.EMERGENCY_CAP, guard)
    if is_ours:
        return state if session.spec.edition < 2 else replace(state, session=_with_wait(session))
    if failed.kind is FailureKind.OUT_OF_BUDGET:
        return _end_session(state, room_specs.Ending.EMERGENCY_CAP, failed.message)
    reason = f"{failed.kind.value.replace('_', ' ')}" + (
        f": {one_line(failed.message, 300)}" if failed.message else ""
    )
    is_limited = failed.kind in LIMITED and failed.kind is not FailureKind.OVERLOADED
    if is_limited or (failed.kind is FailureKind.OVERLOADED and failed.retry_at is not None):
        if session.spec.edition >= 2:
            delay = outages.after_limit(session.spec, session.outages, agent, failed, reason, at)
            return _delayed(state, session, agent, delay, failed.kind)
        return _rate_limited(session, state, failed, reason, at)
    if session.spec.edition >= 2 and failed.kind in RETRYABLE and session.spec.backoff.retries:
        delay = outages.after_failure(session.spec, session.outages, agent, reason, at)
        return _delayed(state, session, agent, delay, failed.kind)
    if failed.kind in RETRYABLE and session.failures < session.spec.backoff.retries:
        attempt = session.failures + 1
        wait: timedelta = session.spec.backoff.delay(attempt, session.spec.id)
        return _retry_later(replace(session, failures=attempt), state, reason, at + wait)
    return _end_session(
        state, room_specs.Ending.AGENT_FAILED, f"{session.speaker} failed: {reason}"
    )


def _delayed(
    state: RoomState,
    session: Session,
    agent: AgentName,
    delay: outages.Delay,
    kind: FailureKind,
) -> RoomState:
    """Wait for the agent, let another one speak meanwhile, or wait for a person."""
    if delay.gave_up:
        session = replace(session, paused=delay.gave_up, paused_by=kind)
        text = f"{delay.gave_up}; {room_specs.RETRY_HINT}"
    else:
        failed = outages.outage_of(session.spec, delay.outages, agent)
        assert failed is not None, "a delay has an outage of its agent"
        text = outages.with_retry_time(failed.text, failed.until)
        session = replace(session, outages=delay.outages)
        if delay.instead is not None and session.speaker == agent:
            text = f"{text}; meanwhile {delay.instead} continues"
            session = replace(session, speaker=delay.instead, task="")
        session = _with_wait(session)
    return _with_notice(replace(state, session=session), room_specs.NoticeKind.WARNING, text)


def _rate_limited(
    session: Session, state: RoomState, failed: Failed, reason: str, at: datetime
) -> RoomState:
    """Wait longer after each attempt; after the maximum, pause for a person."""
    endurance = session.spec.endurance
    over = endurance.give_up_reason(failed, at, session.standstill) if endurance else ""
    if over:
        text = f"{session.speaker}: {reason}; {over}"
        state = replace(state, session=replace(session, paused=text, paused_by=failed.kind))
        return _with_notice(
            state, room_specs.NoticeKind.WARNING, f"{text}; {room_specs.RETRY_HINT}"
        )
    standstill = session.standstill.extended(failed, at)
    until = retry_time(failed.retry_at, at, standstill.times, session.spec.id)
    return _retry_later(replace(session, standstill=standstill), state, reason, until)


def _retry_later(session: Session, state: RoomState, reason: str, until: datetime) -> RoomState:
    text = outages.with_retry_time(f"{session.speaker}: {reason}", until)
    session = replace(session, wait_until=until, waits_for=text)
    return _with_notice(replace(state, session=session), room_specs.NoticeKind.WARNING, text)


def _charge_cut_turn(state: RoomState, at: datetime) -> RoomState:
    """Charge the time of a turn that a person ended, at most its limit: its process may have ended
    long before."""
    session = state.session
    seat = session.spec.seat(session.speaker) if session else None
    if session is None or session.began is None or seat is None:
        return state
    most_s = min(seat.turn_s, max(0.0, session.seconds_left))
    took_s = min(elapsed_seconds(at - session.began), most_s)
    if session.spec.edition >= 2:
        session = sessions.charge_cut_call(session, Usage(), state.chars_a_token)
    return replace(state, session=replace(session, ran_s=session.ran_s + took_s))


def _end_session(state: RoomState, ending: room_specs.Ending, detail: str = "") -> RoomState:
    session = state.session
    if session is None:
        return state
    summary = sessions.summary(session, ending, detail)
    state = _with_notice(state, room_specs.NoticeKind.ENDED, sessions.closing_text(summary))
    state = _with_notice(state, room_specs.NoticeKind.SUMMARY, sessions.summary_text(summary))
    return replace(state, session=None, last=summary)


def _with_length_notice(state: RoomState, whose: str, text: str) -> RoomState:
    """Tell people that the next agent gets a shortened message."""
    spec = state.session.spec.window if state.session else WindowSpec()
    most = context_window.longest_item(spec, state.chars_a_token)
    if spec.edition < 2 or len(text) <= most:
        return state
    notice = (
        f"{whose} has {len(text):,} characters; other agents get about {most:,} of them, without"
        " the middle. `room.window_tokens` sets how much they get."
    )
    return _with_notice(state, room_specs.NoticeKind.NOTICE, notice)


def _with_notice(state: RoomState, kind: room_specs.NoticeKind, text: str) -> RoomState:
    return replace(state, news=(*state.news, room_specs.Notice(kind=kind, text=text)))
