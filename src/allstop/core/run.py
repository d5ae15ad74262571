"""One run: its state, how events change the state, and how the next move is chosen."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Generic, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from allstop.core import brakes
from allstop.core.asks import Answer, Ask, Permission
from allstop.core.brakes import HARD, AtLimit, Limits, LimitStatus, Tally
from allstop.core.budget import NOTHING, Amount
from allstop.core.commands import Abort, Allstop, Interrupt, Permit, Raise, Resume
from allstop.core.decisions import Decided
from allstop.core.events import (
    Asked,
    CallReserved,
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
from allstop.core.helm import FROZEN, RUNNING, STOPPED, Helm, Hold, hold_after, is_paused_beneath
from allstop.core.ids import MoveId
from allstop.core.moves import (
    BRAKED,
    Billable,
    Failed,
    FailureKind,
    Finish,
    ModelCall,
    Move,
    Outcome,
    Result,
    Spawn,
    TakeTurn,
    TurnDone,
    Usage,
    Wait,
    Work,
    is_failed_turn,
    is_turn,
)

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)

NO_HOLD = Helm()
NO_USAGE = Usage()


class PilotContext(Struct, frozen=True, gc=False):
    """The inputs of a pilot's decision besides its own state."""

    now: datetime
    warning: str = ""  # a limit is near
    limits: Limits = Limits()
    tally: Tally = Tally()
    opened_at: datetime | None = None


class Pilot(Protocol[S]):
    """Chooses the moves of a run. Pure: it must not read a clock, a file or a socket."""

    @property
    def kind(self) -> str: ...
    @property
    def ends_when_stopped(self) -> bool:
        """Whether an Allstop ends its work, rather than holding it until Resume."""
        ...

    @property
    def needs_slots(self) -> bool:
        """Whether its turns take one of the machine's slots."""
        ...

    def begin(self, spec: dict[str, object]) -> S: ...
    def evolve(self, state: S, event: Event) -> S: ...
    def next_move(self, state: S, context: PilotContext) -> Move: ...
    def undelivered(self, state: S) -> tuple[str, ...]:
        """Messages of people that the agent can receive during its turn, oldest first.

        Each `Reached` event records the delivery of the first of them.
        """
        ...


@runtime_checkable
class BatchPilot(Protocol[S]):
    """A pilot that folds many events at once faster than one by one."""

    def evolve_all(self, state: S, events: Sequence[Event]) -> S:
        """The same state as `evolve` for each event in turn."""
        ...


@runtime_checkable
class DecidingPilot(Protocol[S_contra]):
    """A pilot whose decisions are written to the journal with a digest of their inputs."""

    def decided(self, before: S_contra, after: S_contra) -> Decided | None:
        """The decision that leads from one state to the other, if there is one."""
        ...


@runtime_checkable
class SteppedPilot(Protocol[S_contra]):
    """A pilot whose steps have several moves; a pause takes effect at a step's end."""

    def is_within_step(self, state: S_contra) -> bool:
        """Whether the next move ends the current step."""
        ...


@runtime_checkable
class CompletingPilot(Protocol[S_contra]):
    """A pilot that verifies and merges finished work at a used-up budget, as this needs no turn."""

    def completion(self, state: S_contra, context: PilotContext) -> Move | None:
        """The next move if it only verifies or merges finished work; otherwise None."""
        ...


def is_held(hold: Hold, pilot: Pilot[S], state: S) -> bool:
    """Whether a hold lets no move begin. A paused run still ends its current step."""
    if hold is not Hold.PAUSED or not _is_stepped(type(pilot)):
        return hold is not RUNNING
    return not cast("SteppedPilot[S]", pilot).is_within_step(state)


@cache
def _is_stepped(kind: type) -> bool:
    return issubclass(kind, SteppedPilot)


def as_deciding_pilot(pilot: Pilot[S]) -> DecidingPilot[S] | None:
    """The pilot if it records decisions. Cached by class, because protocol checks are slow."""
    return cast("DecidingPilot[S]", pilot) if _is_deciding(type(pilot)) else None


@cache
def _is_deciding(kind: type) -> bool:
    return issubclass(kind, DecidingPilot)


class OpenCalls(Struct, frozen=True, gc=False):
    """The model calls of an open turn: what they used, and what those under way may use."""

    used: Usage = NO_USAGE
    under_way: dict[int, Amount] = {}

    def reserve(self, number: int, amount: Amount) -> "OpenCalls":
        return OpenCalls(self.used, {**self.under_way, number: amount})

    def settle(self, number: int, used: Usage) -> "OpenCalls":
        left = {key: amount for key, amount in self.under_way.items() if key != number}
        return OpenCalls(self.used.plus(used), left)

    @property
    def reserved(self) -> Amount:
        total = NOTHING
        for amount in self.under_way.values():
            total = total.plus(amount)
        return total

    @property
    def most(self) -> Usage:
        """What is charged if the turn's end is never recorded."""
        reserved = self.reserved
        more = Usage(input=reserved.tokens, cost_microusd=reserved.cost_microusd)
        return self.used.plus(more)


NO_CALLS = OpenCalls()


def usage_of_call(call: ModelCall) -> Usage:
    return Usage(
        input=call.input,
        cached=call.cached,
        output=call.output,
        cost_microusd=call.cost_microusd or 0,
        model=call.model,
        partial=call.cost_microusd is None,
    )


def calls_after(calls: OpenCalls, event: CallReserved | Noted) -> OpenCalls:
    """The calls of an open turn after one of its events."""
    if isinstance(event, CallReserved):
        amount = Amount(tokens=event.tokens, cost_microusd=event.cost_microusd)
        return calls.reserve(event.number, amount)
    for item in event.items:
        if item.call is not None:
            calls = calls.settle(item.call.number, usage_of_call(item.call))
    return calls


class OpenMove(Struct, frozen=True, gc=False, kw_only=True):
    id: MoveId
    move: Work
    started_at: datetime
    stops: int  # of this run, when the move began
    helm_stops: int = 0  # of all runs, when the move began
    thread: str | None = None
    cost_microusd: int = 0  # reserved
    seen_at: datetime | None = None  # the last activity
    calls: OpenCalls = NO_CALLS


class RunState(Struct, Generic[S], frozen=True, gc=False, kw_only=True):
    opened: Opened
    pilot: S
    limits: Limits
    tally: Tally = Tally()
    hold: Hold = RUNNING
    pauses: bool = False  # a pause lies beneath the freeze; a thaw leaves it
    stops: int = 0
    aborting: bool = False
    closed: Closed | None = None
    open_move: OpenMove | None = None
    moves: int = 0
    asks: dict[str, Ask] = {}  # waiting for a person
    asked_at: dict[str, datetime] = {}
    permits: dict[str, Answer] = {}  # answered by a person
    limit_reached: str = ""  # the shared budget, or limit of the machine, that ended the last move
    limit_failure: FailureKind | None = None  # the kind of that limit
    waits: str = ""  # the reason for waiting that its parent was told
    rests: str = ""  # the reason for needing no slot that its parent was told
    short_until: datetime | None = None  # it waits for the next day's budget, or for a raise
    helm_stops: int = 0  # the number of Allstops recorded in this run


class FoldedRun(NamedTuple, Generic[S]):
    """The state of a run after the event number `seq`."""

    state: RunState[S]
    seq: int


def begin(pilot: Pilot[S], opened: Opened) -> RunState[S]:
    return RunState(opened=opened, pilot=pilot.begin(opened.spec), limits=opened.limits)


def evolve(pilot: Pilot[S], state: RunState[S], event: Event) -> RunState[S]:
    return _evolve(state, event, pilot.evolve(state.pilot, event))


def fold(pilot: Pilot[S], events: Iterable[Event]) -> RunState[S]:
    stream = iter(events)
    opened = next(stream)
    assert isinstance(opened, Opened), "a journal starts with Opened"
    return fold_more(pilot, begin(pilot, opened), stream)


def fold_more(pilot: Pilot[S], state: RunState[S], events: Iterable[Event]) -> RunState[S]:
    if isinstance(pilot, BatchPilot):
        known = list(events)
        after = pilot.evolve_all(state.pilot, known)
        for event in known:
            state = _evolve(state, event, state.pilot)
        return replace(state, pilot=after)
    for event in events:
        state = evolve(pilot, state, event)
    return state


def choose(pilot: Pilot[S], state: RunState[S], now: datetime, helm: Helm = NO_HOLD) -> Move:
    """The next move. Allstop decides first, then the run's state, its limits, and its pilot."""
    if is_held(helm.hold, pilot, state.pilot):
        return Wait(reason="allstop" if helm.hold is STOPPED else f"all {helm.hold}")
    if state.closed is not None:
        return Wait(reason="closed")
    if state.aborting:
        return Finish(outcome=Outcome.ABORTED)
    if is_held(state.hold, pilot, state.pilot):
        return Wait(reason=state.hold.value)
    status = brakes.check(state.limits, state.tally, state.opened.at, now)
    if status.level is HARD:
        return _completion(pilot, state, now) or _stop_at_limit(state.limits, status)
    if state.limit_reached and not pilot.ends_when_stopped:  # in a room it ends only the session
        return _stop_at_limit(state.limits, LimitStatus(HARD, state.limit_reached))
    move = pilot.next_move(
        state.pilot, PilotContext(now, status.reason, state.limits, state.tally, state.opened.at)
    )
    if isinstance(move, TakeTurn) and (most := move.most_tokens) is not None:
        status = brakes.check_reservation(state.limits, state.tally, most)
        if status.level is HARD:
            return _stop_at_limit(state.limits, status)
    return move


def _completion(pilot: Pilot[S], state: RunState[S], now: datetime) -> Move | None:
    """The next move of finished work. A budget doesn't stop it, but a time limit does."""
    if not _is_completing(type(pilot)):
        return None
    limits, tally, opened_at = state.limits, state.tally, state.opened.at
    if brakes.seconds_left(limits, tally, opened_at, now) == 0:
        return None
    context = PilotContext(now, "", limits, tally, opened_at)
    return cast("CompletingPilot[S]", pilot).completion(state.pilot, context)


@cache
def _is_completing(kind: type) -> bool:
    return issubclass(kind, CompletingPilot)


def expected_move(pilot: Pilot[S], state: RunState[S], now: datetime, helm: Helm = NO_HOLD) -> Move:
    """The next move as far as this run's journal tells, without the usage of other runs."""
    move = choose(pilot, state, now, helm)
    until = state.short_until
    if isinstance(move, TakeTurn | Spawn) and until is not None and now < until:
        return Wait(reason=state.waits, until=until, for_person=True, at_limit=True)
    return move


def waits_for_budget(state: RunState[S], now: datetime) -> bool:
    """Whether it waits because the daily budget is used up."""
    return state.short_until is not None and now < state.short_until


def accepted_result(state: RunState[S], helm: Helm, result: Result) -> Result:
    """The result to write to the journal. After a stop no result of an agent counts."""
    brake = cancelled_by(state, helm)
    if not brake:
        return result
    if isinstance(result, Failed):
        message = f"cut off by {brake}"
        return Failed(
            kind=FailureKind.CANCELLED, message=message, usage=result.usage, call=result.call
        )
    message, kind = f"it came after {brake}", FailureKind.DISCARDED
    if isinstance(result, TurnDone):
        return Failed(kind=kind, message=message, usage=result.usage, call=result.call)
    return Failed(kind=kind, message=message)


def cancelled_by(state: RunState[S], helm: Helm) -> str:
    """The command that cancels the open move; "" if there is none."""
    move = state.open_move
    if move is None:
        return ""
    if helm.stops > move.helm_stops:
        return "Allstop"
    if state.stops > move.stops:
        return "a stop of this run"
    return "an abort" if state.aborting else ""


def must_record_stop(pilot: Pilot[S], state: RunState[S], helm: Helm, seen: int) -> bool:
    """Whether an Allstop ends this run's work: one in force, or one after the first `seen`."""
    if state.helm_stops >= helm.stops or not pilot.ends_when_stopped or state.closed is not None:
        return False
    return helm.hold is STOPPED or seen < helm.stops


def is_frozen(state: RunState[S], helm: Helm) -> bool:
    return state.hold is FROZEN or helm.hold is FROZEN


def _stop_at_limit(limits: Limits, status: LimitStatus) -> Move:
    if limits.at_limit is AtLimit.PAUSE:
        return Wait(reason=f"limit reached: {status.reason}", for_person=True, at_limit=True)
    return Finish(outcome=Outcome.BRAKED, note=status.reason)


def _evolve(state: RunState[S], event: Event, pilot: S) -> RunState[S]:
    """The state after an event, given the pilot's state; events of each turn copy it only once."""
    match event:
        case MoveStarted():
            return _move_started(state, event, pilot)
        case MoveEnded():
            return _move_ended(state, event, pilot)
        case _:
            after = _evolve_other(state, event)
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


def _evolve_other(state: RunState[S], event: Event) -> RunState[S]:
    match event:
        case Noted() | CallReserved() if state.open_move is not None:
            calls = calls_after(state.open_move.calls, event)
            return replace(state, open_move=replace(state.open_move, seen_at=event.at, calls=calls))
        case ThreadOpened(thread=thread) if state.open_move is not None:
            return replace(state, open_move=replace(state.open_move, thread=thread))
        case Asked(ask=ask, at=at):
            # an earlier answer must not apply to a later request with the same id
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
    usage = result.usage if isinstance(result, Billable) else NO_USAGE
    before = state.tally
    tally = Tally(
        turns=before.turns + is_turn(result),
        input=before.input + usage.input,
        cached=before.cached + usage.cached,
        output=before.output + usage.output,
        cost_microusd=before.cost_microusd + usage.cost_microusd,
        busy_s=before.busy_s + (0.0 if move is None else _busy_seconds(move, event)),
        partial=before.partial or usage.partial,
        failed_turns=before.failed_turns + is_failed_turn(move.move if move else None, result),
    )
    limit_reached, limit_failure = "", None
    if isinstance(result, Failed) and result.kind in BRAKED:
        limit_reached, limit_failure = result.message, result.kind
    return replace(
        state,
        pilot=pilot,
        open_move=None,
        tally=tally,
        asks={},
        asked_at={},
        permits={},
        limit_reached=limit_reached,
        limit_failure=limit_failure,
    )


def _busy_seconds(move: OpenMove, event: MoveEnded) -> float:
    """An interrupted move ends only when the run is resumed: count to its last activity."""
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
            answer = _answer_of(permit, event.by)
            return replace(state, asks=waiting, permits={**state.permits, ask: answer})
        case Raise(limits=limits):
            return replace(state, limits=limits, limit_reached="", limit_failure=None)
        case Resume():
            return replace(state, hold=RUNNING, pauses=False, limit_reached="", limit_failure=None)
        case Abort():
            return replace(state, aborting=True)
        case Allstop():
            return replace(state, hold=STOPPED, pauses=False, stops=state.stops + 1)
        case Interrupt():
            return replace(state, stops=state.stops + 1)
        case command:
            pauses = is_paused_beneath(state.hold, command, pauses=state.pauses)
            hold = hold_after(state.hold, command, pauses=state.pauses)
            return replace(state, hold=hold, pauses=pauses)


def _answer_of(permit: Permit, by: str) -> Answer:
    leave = Permission.SESSION if permit.session else Permission.ALLOW
    return Answer(
        leave=leave if permit.allow else Permission.DENY,
        answers=permit.answers,
        message=permit.message,
        by=by,
    )
