"""Steps of a drive: the entries to write for a chosen move, and the action that follows."""

from __future__ import annotations

from datetime import datetime
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from allstop.core import events, moves
from allstop.core import run as runs
from allstop.core.brakes import Tally
from allstop.core.budget import NOTHING, Amount
from allstop.core.commands import Raise
from allstop.core.helm import RUNNING
from allstop.core.ids import MoveId, RunId, child_of
from allstop.core.run import OpenMove, Pilot, RunState, as_deciding_pilot
from allstop.ports import Entry

S = TypeVar("S")

DriverEvent: TypeAlias = (
    events.MoveStarted | events.MoveEnded | events.Waited | events.Rested | events.Closed
)
"""Events that only the run's drive writes."""


class Waiting(NamedTuple):
    """The run waits."""

    reason: str
    until: datetime | None = None
    for_person: bool = False
    for_room: bool = False  # waits for budget that running turns have reserved


class ChooseAgain(NamedTuple):
    """The move is complete with this write: choose the next one."""


class WaitForSlot(NamedTuple):
    """Wait for a slot, then choose again."""


Idle: TypeAlias = Waiting | moves.Outcome
"""The run waits or is closed."""

Then: TypeAlias = moves.Work | Idle | ChooseAgain | WaitForSlot


class Step(Struct, Generic[S], frozen=True, gc=False):
    entries: tuple[Entry, ...]
    own: int  # number of entries of the run itself
    state: RunState[S]  # after the write
    then: Then


class PendingWrite(Struct, Generic[S], frozen=True, gc=False):
    """A run's entries that aren't written yet, and its state with them folded in."""

    run: RunId
    pilot: Pilot[S]
    state: RunState[S]
    entries: tuple[Entry, ...]
    now: datetime
    stops: int  # of the helm

    def with_event(self, event: events.Event) -> PendingWrite[S]:
        state = runs.evolve(self.pilot, self.state, event)
        entries = (*self.entries, Entry(self.run, event))
        return PendingWrite(self.run, self.pilot, state, entries, self.now, self.stops)

    def ended(self, event: events.MoveEnded) -> PendingWrite[S]:
        """Add the end of a move, with the pilot's decision for the record."""
        pending = self.with_event(event)
        if (pilot := as_deciding_pilot(self.pilot)) is None:
            return pending
        decided = pilot.decided(self.state.pilot, pending.state.pilot)
        if decided is None:
            return pending
        entry = Entry(self.run, replace(event, decided=decided))
        return replace(pending, entries=(*self.entries, entry))

    def step(self, then: Then, *others: Entry) -> Step[S]:
        return Step((*self.entries, *others), len(self.entries), self.state, then)


def step_for(pending: PendingWrite[S], move: moves.Move) -> Step[S]:
    match move:
        case moves.Wait():
            return _wait_step(pending, move)
        case moves.Finish():
            return _finish_step(pending, move)
        case moves.Spawn():
            return _spawn_step(pending, move)
        case moves.EndSprint():
            return _end_sprint_step(pending, move)
        case _:
            return started_step(pending, move)


def started_step(pending: PendingWrite[S], move: moves.Work, reserved: Amount = NOTHING) -> Step[S]:
    started = _move_started(pending, move, reserved)
    return pending.with_event(started).step(move, *_resumed_entries(pending))


def refused_step(pending: PendingWrite[S], move: moves.TakeTurn, why: str) -> Step[S]:
    """Start and fail a turn without budget in one write."""
    started = _move_started(pending, move)
    failed = moves.Failed(kind=moves.FailureKind.OUT_OF_BUDGET, message=why)
    ended = events.MoveEnded(at=pending.now, id=started.id, result=failed)
    return (
        pending.with_event(started)
        .with_event(ended)
        .step(ChooseAgain(), *_resumed_entries(pending))
    )


def day_limit_step(pending: PendingWrite[S], reason: str, until: datetime) -> Step[S]:
    """Record that the daily budget is used up: the run's own events don't show it."""
    waiting = Waiting(reason, until, for_person=True)
    state = pending.state
    if state.waits == reason and state.short_until == until:
        return pending.step(waiting)
    waited = pending.with_event(events.Waited(at=pending.now, reason=reason, until=until))
    parent, ref = state.opened.parent, state.opened.ref
    if parent is None:
        return waited.step(waiting)
    notice = events.ChildWaited(at=pending.now, ref=ref, run=pending.run, reason=reason)
    return waited.step(waiting, Entry(parent, notice))


def _wait_step(pending: PendingWrite[S], move: moves.Wait) -> Step[S]:
    """Wait, and tell the parent once that the run waits for a person or frees its slot."""
    waiting = Waiting(move.reason, move.until, move.for_person)
    parent, ref = pending.state.opened.parent, pending.state.opened.ref
    if parent is not None and _frees_slot(pending.state, move):
        rested = events.ChildRested(
            at=pending.now, ref=ref, run=pending.run, reason=move.reason, until=move.until
        )
        own = events.Rested(at=pending.now, reason=move.reason, until=move.until)
        return pending.with_event(own).step(waiting, Entry(parent, rested))
    if parent is None or not move.for_person or pending.state.waits == move.reason:
        return pending.step(waiting)
    notice = events.ChildWaited(at=pending.now, ref=ref, run=pending.run, reason=move.reason)
    return pending.with_event(events.Waited(at=pending.now, reason=move.reason)).step(
        waiting, Entry(parent, notice)
    )


def _frees_slot(state: RunState[S], move: moves.Wait) -> bool:
    """Whether the run frees its slot and its parent doesn't know it yet."""
    is_idle = state.hold is not RUNNING or move.until is not None
    return is_idle and not move.for_person and not state.waits and state.rests != move.reason


def _resumed_entries(pending: PendingWrite[S]) -> tuple[Entry, ...]:
    parent, ref = pending.state.opened.parent, pending.state.opened.ref
    if parent is None or not (pending.state.waits or pending.state.rests):
        return ()
    return (Entry(parent, events.ChildWentOn(at=pending.now, ref=ref, run=pending.run)),)


def _move_started(
    pending: PendingWrite[S], move: moves.Work, reserved: Amount = NOTHING
) -> events.MoveStarted:
    return events.MoveStarted(
        at=pending.now,
        id=MoveId(pending.state.moves + 1),
        move=moves.without_prompt_text(move),
        cost_microusd=reserved.cost_microusd,
        helm_stops=pending.stops,
    )


def _spawn_step(pending: PendingWrite[S], move: moves.Spawn) -> Step[S]:
    parent = pending.state.opened
    child = child_of(pending.run, move.ref)
    started = _move_started(pending, move)
    ended = events.MoveEnded(at=pending.now, id=started.id, result=moves.Spawned(run=child))
    opened = events.Opened(
        at=pending.now,
        kind=move.kind,
        spec=move.spec,
        title=str(move.spec.get("title", "")),
        limits=move.limits,
        rules=parent.rules,
        parent=pending.run,
        ref=move.ref,
    )
    written = pending.with_event(started).with_event(ended)
    return written.step(ChooseAgain(), Entry(child, opened), *_resumed_entries(pending))


def _end_sprint_step(pending: PendingWrite[S], move: moves.EndSprint) -> Step[S]:
    """End a sprint and its budget: the run's limits are again those that it was opened with."""
    started = _move_started(pending, move)
    result = moves.SprintEnded(sprint=move.sprint)
    written = pending.with_event(started).with_event(
        events.MoveEnded(at=pending.now, id=started.id, result=result)
    )
    limits = pending.state.opened.limits
    if written.state.limits != limits:
        raised = events.Commanded(at=pending.now, command=Raise(limits=limits), by=move.sprint)
        written = written.with_event(raised)
    return written.step(ChooseAgain(), *_resumed_entries(pending))


def _finish_step(pending: PendingWrite[S], move: moves.Finish) -> Step[S]:
    opened = pending.state.opened
    closed = pending.with_event(
        events.Closed(
            at=pending.now,
            outcome=move.outcome,
            note=move.note,
            facts=move.facts,
            failure=move.failure,
        )
    )
    if opened.parent is None:
        return closed.step(move.outcome)
    notice = events.ChildClosed(
        at=pending.now,
        ref=opened.ref,
        run=pending.run,
        outcome=move.outcome,
        tally=pending.state.tally,
        note=move.note,
        facts=move.facts,
        failure=move.failure,
    )
    return closed.step(move.outcome, Entry(opened.parent, notice))


ONE_TURN = Amount(turns=1)
"""The reservation of a turn without a token cap."""


def used_so_far(tally: Tally) -> Amount:
    return Amount(
        turns=tally.turns,
        tokens=tally.tokens,
        cost_microusd=tally.cost_microusd,
        partial=tally.partial,
    )


def unfinished_result(
    open_move: OpenMove, kind: moves.FailureKind, known: moves.Usage | None = None
) -> moves.Failed:
    """The result of an interrupted move, charged with its maximum usage.

    `known` is the observed usage, charged if no maximum is known; None: by the record.
    """
    return moves.Failed(kind=kind, usage=max_usage(open_move, known))


def is_capped(move: moves.Work) -> bool:
    return isinstance(move, moves.TakeTurn) and move.max_tokens is not None


def max_usage(open_move: OpenMove, known: moves.Usage | None = None) -> moves.Usage:
    move = open_move.move
    most = move.most_tokens if isinstance(move, moves.TakeTurn) else None
    if known is None:
        known = open_move.calls.most
    if most is None:
        return known
    return moves.Usage(input=most, cost_microusd=max(open_move.cost_microusd, known.cost_microusd))
