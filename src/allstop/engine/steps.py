"""What is written for a chosen move, and what happens once it is."""

from __future__ import annotations

from datetime import datetime
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from allstop.core import run as runs
from allstop.core.brakes import Tally
from allstop.core.budget import NOTHING, Amount
from allstop.core.events import (
    ChildClosed,
    ChildRested,
    ChildWaited,
    ChildWentOn,
    Closed,
    Event,
    MoveEnded,
    MoveStarted,
    Opened,
    Rested,
    Waited,
)
from allstop.core.helm import RUNNING
from allstop.core.ids import MoveId, RunId, child_of
from allstop.core.moves import (
    Billable,
    Failed,
    FailureKind,
    Finish,
    Move,
    Outcome,
    Result,
    Spawn,
    Spawned,
    TakeTurn,
    Usage,
    Wait,
    Work,
    is_turn,
    without_prompt_text,
)
from allstop.core.run import OpenMove, Pilot, RunState, as_deciding_pilot
from allstop.ports import Entry

S = TypeVar("S")

UNUSED = Usage()

Driven: TypeAlias = MoveStarted | MoveEnded | Waited | Rested | Closed
"""What only whoever drives a run writes to it."""


class Parked(NamedTuple):
    """The run waits."""

    reason: str
    until: datetime | None = None
    for_person: bool = False
    for_room: bool = False  # in a budget that turns under way have reserved


class Again(NamedTuple):
    """All is written that was to be done: choose again."""


class Queue(NamedTuple):
    """All slots are taken: wait for one, then choose again."""


Rest: TypeAlias = Parked | Outcome
"""There is nothing to do now, or ever."""

Then: TypeAlias = Work | Rest | Again | Queue


class Step(Struct, Generic[S], frozen=True, gc=False):
    entries: tuple[Entry, ...]
    own: int  # how many of them are the run's own
    state: RunState[S]  # once they are written
    then: Then


class Page(Struct, Generic[S], frozen=True, gc=False):
    """A run about to be written to: its state with its own `entries` folded in, which come first."""

    run: RunId
    pilot: Pilot[S]
    state: RunState[S]
    entries: tuple[Entry, ...]
    now: datetime
    stops: int  # of the helm

    def also(self, event: Event) -> Page[S]:
        state = runs.evolve(self.pilot, self.state, event)
        entries = (*self.entries, Entry(self.run, event))
        return Page(self.run, self.pilot, state, entries, self.now, self.stops)

    def ended(self, event: MoveEnded) -> Page[S]:
        """With what is decided upon it, which the fold itself does not need."""
        page = self.also(event)
        if (pilot := as_deciding_pilot(self.pilot)) is None:
            return page
        decided = pilot.decided(self.state.pilot, page.state.pilot)
        if decided is None:
            return page
        entry = Entry(self.run, replace(event, decided=decided))
        return replace(page, entries=(*self.entries, entry))

    def step(self, then: Then, *others: Entry) -> Step[S]:
        return Step((*self.entries, *others), len(self.entries), self.state, then)


def lay_out(page: Page[S], move: Move) -> Step[S]:
    match move:
        case Wait():
            return _parked(page, move)
        case Finish():
            return _finished(page, move)
        case Spawn():
            return _spawned(page, move)
        case _:
            return begun(page, move)


def begun(page: Page[S], move: Work, reserved: Amount = NOTHING) -> Step[S]:
    started = _started(page, move, reserved)
    return page.also(started).step(move, *_went_on(page))


def refused(page: Page[S], move: TakeTurn, why: str) -> Step[S]:
    """A turn there is no money for is tried and failed in one write."""
    started = _started(page, move)
    failed = Failed(kind=FailureKind.OUT_OF_BUDGET, message=why)
    ended = MoveEnded(at=page.now, id=started.id, result=failed)
    return page.also(started).also(ended).step(Again(), *_went_on(page))


def short(page: Page[S], reason: str, until: datetime) -> Step[S]:
    """The day's budget is used up: on record, for nobody can tell it from the run's own."""
    parked = Parked(reason, until, for_person=True)
    state = page.state
    if state.waits == reason and state.short_until == until:
        return page.step(parked)
    waited = page.also(Waited(at=page.now, reason=reason, until=until))
    parent, ref = state.opened.parent, state.opened.ref
    if parent is None:
        return waited.step(parked)
    told = ChildWaited(at=page.now, ref=ref, run=page.run, reason=reason)
    return waited.step(parked, Entry(parent, told))


def _parked(page: Page[S], move: Wait) -> Step[S]:
    """Whoever can't go on, without a person or for now, tells the run that started it, once."""
    parked = Parked(move.reason, move.until, move.for_person)
    parent, ref = page.state.opened.parent, page.state.opened.ref
    if parent is not None and _rests(page.state, move):
        rested = ChildRested(
            at=page.now, ref=ref, run=page.run, reason=move.reason, until=move.until
        )
        own = Rested(at=page.now, reason=move.reason, until=move.until)
        return page.also(own).step(parked, Entry(parent, rested))
    if parent is None or not move.for_person or page.state.waits == move.reason:
        return page.step(parked)
    told = ChildWaited(at=page.now, ref=ref, run=page.run, reason=move.reason)
    return page.also(Waited(at=page.now, reason=move.reason)).step(parked, Entry(parent, told))


def _rests(state: RunState[S], move: Wait) -> bool:
    """Whether its slot is free for others from now on, which nobody knows yet."""
    is_idle = state.hold is not RUNNING or move.until is not None
    return is_idle and not move.for_person and not state.waits and state.rests != move.reason


def _went_on(page: Page[S]) -> tuple[Entry, ...]:
    parent, ref = page.state.opened.parent, page.state.opened.ref
    if parent is None or not (page.state.waits or page.state.rests):
        return ()
    return (Entry(parent, ChildWentOn(at=page.now, ref=ref, run=page.run)),)


def _started(page: Page[S], move: Work, reserved: Amount = NOTHING) -> MoveStarted:
    return MoveStarted(
        at=page.now,
        id=MoveId(page.state.moves + 1),
        move=without_prompt_text(move),
        cost_microusd=reserved.cost_microusd,
        helm_stops=page.stops,
    )


def _spawned(page: Page[S], move: Spawn) -> Step[S]:
    parent = page.state.opened
    child = child_of(page.run, move.ref)
    started = _started(page, move)
    ended = MoveEnded(at=page.now, id=started.id, result=Spawned(run=child))
    opened = Opened(
        at=page.now,
        kind=move.kind,
        spec=move.spec,
        title=str(move.spec.get("title", "")),
        limits=move.limits,
        rules=parent.rules,
        parent=page.run,
        ref=move.ref,
    )
    written = page.also(started).also(ended)
    return written.step(Again(), Entry(child, opened), *_went_on(page))


def _finished(page: Page[S], move: Finish) -> Step[S]:
    opened = page.state.opened
    closed = page.also(
        Closed(
            at=page.now,
            outcome=move.outcome,
            note=move.note,
            facts=move.facts,
            failure=move.failure,
        )
    )
    if opened.parent is None:
        return closed.step(move.outcome)
    told = ChildClosed(
        at=page.now,
        ref=opened.ref,
        run=page.run,
        outcome=move.outcome,
        tally=page.state.tally,
        note=move.note,
        facts=move.facts,
        failure=move.failure,
    )
    return closed.step(move.outcome, Entry(opened.parent, told))


A_TURN = Amount(turns=1)
"""What a turn without a cap reserves."""


def price(move: TakeTurn, cost_microusd: int) -> Amount:
    """What a turn reserves: itself, all the tokens it may use, and the most that they may cost."""
    return Amount(turns=1, tokens=move.most_tokens or 0, cost_microusd=cost_microusd)


def reserved_by(started: MoveStarted) -> Amount:
    """The same, from the record."""
    move = started.move
    return price(move, started.cost_microusd) if isinstance(move, TakeTurn) else NOTHING


def spent(result: Result) -> Amount:
    if not isinstance(result, Billable):
        return Amount()
    usage = result.usage
    return Amount(
        turns=int(is_turn(result)),
        tokens=usage.tokens,
        cost_microusd=usage.cost_microusd,
    )


def used_so_far(tally: Tally) -> Amount:
    return Amount(turns=tally.turns, tokens=tally.tokens, cost_microusd=tally.cost_microusd)


def unfinished(open_move: OpenMove, kind: FailureKind, known: Usage = UNUSED) -> Failed:
    """A move that nobody saw the end of. What it may have used counts as used.

    `known` is what has been seen of it: it counts where nobody knows the most.
    """
    return Failed(kind=kind, usage=lost_by(open_move, known))


def is_capped(move: Work) -> bool:
    return isinstance(move, TakeTurn) and move.max_tokens is not None


def lost_by(open_move: OpenMove, known: Usage = UNUSED) -> Usage:
    move = open_move.move
    most = move.most_tokens if isinstance(move, TakeTurn) else None
    if most is None:
        return known
    return Usage(input=most, cost_microusd=max(open_move.cost_microusd, known.cost_microusd))
