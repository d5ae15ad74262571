"""One run: its state, how an event changes it, and how the next move is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Generic, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from allstop.core import brakes
from allstop.core.asks import Answer, Ask, Leave
from allstop.core.brakes import HARD, AtLimit, Limits, Tally, Verdict
from allstop.core.commands import Abort, Allstop, Interrupt, Permit, Raise, Resume
from allstop.core.decisions import Decided
from allstop.core.events import (
    Asked,
    ChildClosed,
    Closed,
    Commanded,
    Event,
    MoveEnded,
    MoveStarted,
    Noted,
    Opened,
    Rested,
    Stopped,
    ThreadOpened,
    Waited,
)
from allstop.core.helm import FROZEN, RUNNING, STOPPED, Helm, Hold, held, pauses_beneath
from allstop.core.ids import MoveId
from allstop.core.moves import (
    BRAKED,
    Charged,
    Failed,
    FailureKind,
    Finish,
    Move,
    Outcome,
    Result,
    Spawn,
    TakeTurn,
    TurnDone,
    Usage,
    Wait,
    Work,
    is_turn,
)

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)

AT_EASE = Helm()
UNUSED = Usage()


class Brief(Struct, frozen=True, gc=False):
    """What a pilot is told besides its own state."""

    now: datetime
    warning: str = ""  # a limit is near: wind down
    limits: Limits = Limits()
    tally: Tally = Tally()
    opened_at: datetime | None = None


class Pilot(Protocol[S]):
    """Decides what a run does next. Pure: it must not read a clock, a file or a socket."""

    @property
    def kind(self) -> str: ...
    @property
    def ends_when_stopped(self) -> bool:
        """Whether an Allstop ends what it does, rather than holding it until Resume."""
        ...

    @property
    def needs_slots(self) -> bool:
        """Whether its turns are work on this machine, of which there is only so much at once."""
        ...

    def begin(self, spec: dict[str, object]) -> S: ...
    def evolve(self, state: S, event: Event) -> S: ...
    def next_move(self, state: S, brief: Brief) -> Move: ...
    def unheard(self, state: S) -> tuple[str, ...]:
        """What the agent whose turn is under way can be told at once, and has not been told yet.

        In the order in which it is told; each `Reached` is for the first of them.
        """
        ...


@runtime_checkable
class Gathering(Protocol[S]):
    """A pilot that takes many events at once in less time than one after the other."""

    def evolve_all(self, state: S, events: Sequence[Event]) -> S:
        """What `evolve` comes to, event by event."""
        ...


@runtime_checkable
class Deciding(Protocol[S_contra]):
    """A pilot whose decisions are written down with what they were made upon."""

    def decided(self, before: S_contra, after: S_contra) -> Decided | None:
        """What was decided between these two states, if anything was."""
        ...


def deciding(pilot: Pilot[S]) -> Deciding[S] | None:
    """Asked of its class once: to look through a protocol costs a tenth of a turn."""
    return cast("Deciding[S]", pilot) if _is_deciding(type(pilot)) else None


@cache
def _is_deciding(kind: type) -> bool:
    return issubclass(kind, Deciding)


class OpenMove(Struct, frozen=True, gc=False, kw_only=True):
    id: MoveId
    move: Work
    started_at: datetime
    stops: int  # of this run, when it began
    helm_stops: int = 0  # of all runs, likewise
    thread: str | None = None
    cost_microusd: int = 0  # reserved
    seen_at: datetime | None = None  # the last sign of life


class RunState(Struct, Generic[S], frozen=True, gc=False, kw_only=True):
    opened: Opened
    pilot: S
    limits: Limits
    tally: Tally = Tally()
    hold: Hold = RUNNING
    pauses: bool = False  # beneath the freeze: what a thaw leaves
    stops: int = 0
    aborting: bool = False
    closed: Closed | None = None
    open_move: OpenMove | None = None
    moves: int = 0
    asks: dict[str, Ask] = {}  # waiting for a person
    asked_at: dict[str, datetime] = {}
    permits: dict[str, Answer] = {}  # answered by one
    broke: str = ""  # which shared budget is used up
    broke_by: FailureKind | None = None  # or what of the machine
    waits: str = ""  # what its parent was told that it waits for
    rests: str = ""  # why its parent was told that it needs no slot
    short_until: datetime | None = None  # it waits for the budget of another day, or for a raise
    helm_stops: int = 0  # of which it has been told


class Folded(NamedTuple, Generic[S]):
    """A run as it was after so many events."""

    state: RunState[S]
    seq: int


def begin(pilot: Pilot[S], opened: Opened) -> RunState[S]:
    return RunState(opened=opened, pilot=pilot.begin(opened.spec), limits=opened.limits)


def evolve(pilot: Pilot[S], state: RunState[S], event: Event) -> RunState[S]:
    return _evolved(state, event, pilot.evolve(state.pilot, event))


def fold(pilot: Pilot[S], events: Iterable[Event]) -> RunState[S]:
    stream = iter(events)
    opened = next(stream)
    assert isinstance(opened, Opened), "a journal starts with Opened"
    return fold_on(pilot, begin(pilot, opened), stream)


def fold_on(pilot: Pilot[S], state: RunState[S], events: Iterable[Event]) -> RunState[S]:
    if isinstance(pilot, Gathering):
        known = list(events)
        after = pilot.evolve_all(state.pilot, known)
        for event in known:
            state = _evolved(state, event, state.pilot)
        return replace(state, pilot=after)
    for event in events:
        state = evolve(pilot, state, event)
    return state


def choose(pilot: Pilot[S], state: RunState[S], now: datetime, helm: Helm = AT_EASE) -> Move:
    """The next move: Allstop first, then the run's own state, its limits, and last the pilot."""
    if helm.hold is not RUNNING:
        return Wait(reason="allstop" if helm.hold is STOPPED else f"all {helm.hold}")
    if state.closed is not None:
        return Wait(reason="closed")
    if state.aborting:
        return Finish(outcome=Outcome.ABORTED)
    if state.hold is not RUNNING:
        return Wait(reason=state.hold.value)
    verdict = brakes.check(state.limits, state.tally, state.opened.at, now)
    if verdict.grip is HARD:
        return _braked(state.limits, verdict)
    if state.broke and not pilot.ends_when_stopped:  # where a limit ends the talk, not the room
        return _braked(state.limits, Verdict(HARD, state.broke))
    move = pilot.next_move(
        state.pilot, Brief(now, verdict.reason, state.limits, state.tally, state.opened.at)
    )
    if isinstance(move, TakeTurn) and (most := move.most_tokens) is not None:
        verdict = brakes.room_for(state.limits, state.tally, most)
        if verdict.grip is HARD:
            return _braked(state.limits, verdict)
    return move


def outlook(pilot: Pilot[S], state: RunState[S], now: datetime, helm: Helm = AT_EASE) -> Move:
    """The next move, as far as the record tells whoever doesn't know what others have used."""
    move = choose(pilot, state, now, helm)
    until = state.short_until
    if isinstance(move, TakeTurn | Spawn) and until is not None and now < until:
        return Wait(reason=state.waits, until=until, for_person=True, at_limit=True)
    return move


def is_short(state: RunState[S], now: datetime) -> bool:
    """Whether it waits because the budget of the day is used up."""
    return state.short_until is not None and now < state.short_until


def accepted(state: RunState[S], helm: Helm, result: Result) -> Result:
    """What may be written of a result: nothing an agent said or did counts after a stop."""
    brake = cut_by(state, helm)
    if not brake:
        return result
    if isinstance(result, Failed):
        message = f"cut off by {brake}"
        return Failed(kind=FailureKind.CANCELLED, message=message, usage=result.usage)
    usage = result.usage if isinstance(result, TurnDone) else Usage()
    return Failed(kind=FailureKind.DISCARDED, message=f"it came after {brake}", usage=usage)


def cut_by(state: RunState[S], helm: Helm) -> str:
    """What ends the open move now rather than when it is done; "" for nothing."""
    move = state.open_move
    if move is None:
        return ""
    if helm.stops > move.helm_stops:
        return "Allstop"
    if state.stops > move.stops:
        return "a stop of this run"
    return "an abort" if state.aborting else ""


def must_be_told(pilot: Pilot[S], state: RunState[S], helm: Helm, seen: int) -> bool:
    """Whether what it does ends with an Allstop: one in force, or one since `seen` stops."""
    if state.helm_stops >= helm.stops or not pilot.ends_when_stopped or state.closed is not None:
        return False
    return helm.hold is STOPPED or seen < helm.stops


def is_frozen(state: RunState[S], helm: Helm) -> bool:
    return state.hold is FROZEN or helm.hold is FROZEN


def _braked(limits: Limits, verdict: Verdict) -> Move:
    if limits.at_limit is AtLimit.PAUSE:
        return Wait(reason=f"limit reached: {verdict.reason}", for_person=True, at_limit=True)
    return Finish(outcome=Outcome.BRAKED, note=verdict.reason)


def _evolved(state: RunState[S], event: Event, pilot: S) -> RunState[S]:
    """With the pilot's state after the event, in one copy for what every turn writes."""
    match event:
        case MoveStarted():
            return _move_started(state, event, pilot)
        case MoveEnded():
            return _move_ended(state, event, pilot)
        case _:
            after = _evolved_otherwise(state, event)
            return after if after.pilot is pilot else replace(after, pilot=pilot)


def _move_started(state: RunState[S], event: MoveStarted, pilot: S) -> RunState[S]:
    opened = OpenMove(
        id=event.id,
        move=event.move,
        started_at=event.at,
        stops=state.stops,
        helm_stops=event.helm_stops,
        cost_microusd=event.cost_microusd,
    )
    return replace(
        state,
        pilot=pilot,
        open_move=opened,
        moves=state.moves + 1,
        waits="",
        rests="",
        short_until=None,
    )


def _evolved_otherwise(state: RunState[S], event: Event) -> RunState[S]:
    match event:
        case Noted(at=at) if state.open_move is not None:
            return replace(state, open_move=replace(state.open_move, seen_at=at))
        case ThreadOpened(thread=thread) if state.open_move is not None:
            return replace(state, open_move=replace(state.open_move, thread=thread))
        case Asked(ask=ask, at=at):
            # an answer is for the question that was asked, not for the next one of that name
            permits = {k: v for k, v in state.permits.items() if k != ask.id}
            asked_at = {**state.asked_at, ask.id: at}
            asks = {**state.asks, ask.id: ask}
            return replace(state, asks=asks, asked_at=asked_at, permits=permits)
        case Waited(reason=reason, until=until):
            return replace(state, waits=reason, rests="", short_until=until)
        case Rested(reason=reason):
            return replace(state, rests=reason)
        case Stopped(stops=stops):
            return replace(state, helm_stops=stops)
        case ChildClosed(tally=tally):
            return replace(state, tally=state.tally.plus(tally))
        case Closed():
            return replace(state, closed=event)
        case Commanded():
            return _commanded(state, event)
        case _:
            return state


def _move_ended(state: RunState[S], event: MoveEnded, pilot: S) -> RunState[S]:
    move, result = state.open_move, event.result
    usage = result.usage if isinstance(result, Charged) else UNUSED
    before = state.tally
    tally = Tally(
        turns=before.turns + is_turn(result),
        input=before.input + usage.input,
        cached=before.cached + usage.cached,
        output=before.output + usage.output,
        cost_microusd=before.cost_microusd + usage.cost_microusd,
        busy_s=before.busy_s + (0.0 if move is None else _took_s(move, event)),
    )
    broke, broke_by = "", None
    if isinstance(result, Failed) and result.kind in BRAKED:
        broke, broke_by = result.message, result.kind
    return replace(
        state,
        pilot=pilot,
        open_move=None,
        tally=tally,
        asks={},
        asked_at={},
        permits={},
        broke=broke,
        broke_by=broke_by,
    )


def _took_s(move: OpenMove, event: MoveEnded) -> float:
    """An interrupted move is ended by whoever takes it up, maybe days later: it was no work since."""
    result, ended_at = event.result, event.at
    if isinstance(result, Failed) and result.kind is FailureKind.INTERRUPTED:
        ended_at = move.seen_at or move.started_at
    return max(0.0, (ended_at - move.started_at).total_seconds() - event.held_s)


def _commanded(state: RunState[S], event: Commanded) -> RunState[S]:
    if state.closed is not None:
        return state
    match event.command:
        case Permit(ask=ask) as permit:
            waiting = {k: v for k, v in state.asks.items() if k != ask}
            answer = _permitted(permit, event.by)
            return replace(state, asks=waiting, permits={**state.permits, ask: answer})
        case Raise(limits=limits):
            return replace(state, limits=limits, broke="", broke_by=None)
        case Resume():
            return replace(state, hold=RUNNING, pauses=False, broke="", broke_by=None)
        case Abort():
            return replace(state, aborting=True)
        case Allstop():
            return replace(state, hold=STOPPED, pauses=False, stops=state.stops + 1)
        case Interrupt():
            return replace(state, stops=state.stops + 1)
        case command:
            pauses = pauses_beneath(state.hold, command, pauses=state.pauses)
            hold = held(state.hold, command, pauses=state.pauses)
            return replace(state, hold=hold, pauses=pauses)


def _permitted(permit: Permit, by: str) -> Answer:
    leave = Leave.SESSION if permit.session else Leave.ALLOW
    return Answer(
        leave=leave if permit.allow else Leave.DENY,
        answers=permit.answers,
        message=permit.message,
        by=by,
    )
