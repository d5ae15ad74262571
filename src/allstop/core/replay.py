"""Why a run did what it did: every decision made again from the record, and compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.core import brakes, run
from allstop.core.brakes import Tally
from allstop.core.decisions import Decided
from allstop.core.events import Closed, Event, MoveEnded, MoveStarted, Opened
from allstop.core.ids import MoveId
from allstop.core.moves import (
    Failed,
    Finish,
    Move,
    OpenWorkspace,
    Result,
    Spawn,
    Wait,
    Work,
    on_record,
)
from allstop.core.run import Deciding, Pilot, RunState

S = TypeVar("S")

LATER = frozenset({"stash", "terms", "before", "edition"})
"""What older versions did not tell the runs they started."""


class Receipt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One decision: what was known, what was decided, what came of it."""

    seq: int
    at: datetime
    move: Work | Finish
    tally: Tally
    warning: str = ""  # a limit that was near
    same: bool = True  # deciding again from the record gives this very move
    again: Move | None = None  # what it gives instead
    result: Result | None = None
    overridden: str = ""  # why what came back did not count


class Difference(Struct, frozen=True, gc=False, kw_only=True):
    seq: int
    recorded: Work | Finish
    again: Move


def receipts(pilot: Pilot[S], events: Sequence[Event]) -> list[Receipt]:
    """A receipt for every decision in the record, oldest first."""
    opened = events[0]
    assert isinstance(opened, Opened), "a journal starts with Opened"
    results = {e.id: e.result for e in events if isinstance(e, MoveEnded)}
    state = run.begin(pilot, opened)
    written = []
    for seq, event in enumerate(events[1:], start=2):
        if isinstance(event, MoveStarted | Closed):
            written.append(_receipt(pilot, state, seq, event, results))
        state = run.evolve(pilot, state, event)
    return written


def differences(pilot: Pilot[S], events: Sequence[Event]) -> list[Difference]:
    """Where this pilot decides otherwise than the record says; none for the pilot that wrote it."""
    return [
        Difference(seq=r.seq, recorded=r.move, again=r.again)
        for r in receipts(pilot, events)
        if r.again is not None
    ]


class Redecided(Struct, frozen=True, gc=False, kw_only=True):
    """A decision on record that is another now, or is made from something else."""

    seq: int
    recorded: Decided
    again: Decided | None


def redecided(pilot: Pilot[S], events: Sequence[Event]) -> list[Redecided]:
    """Where a decision that was written down does not follow from the record before it."""
    opened = events[0]
    assert isinstance(opened, Opened), "a journal starts with Opened"
    if not isinstance(pilot, Deciding):
        return []
    state = run.begin(pilot, opened)
    found = []
    for seq, event in enumerate(events[1:], start=2):
        before, state = state.pilot, run.evolve(pilot, state, event)
        if isinstance(event, MoveEnded) and event.decided is not None:
            again = pilot.decided(before, state.pilot)
            if again != event.decided:
                found.append(Redecided(seq=seq, recorded=event.decided, again=again))
    return found


def decisions(events: Sequence[Event]) -> int:
    """How many were written down besides the moves that they led to."""
    return sum(isinstance(event, MoveEnded) and event.decided is not None for event in events)


def _receipt(
    pilot: Pilot[S],
    state: RunState[S],
    seq: int,
    event: MoveStarted | Closed,
    results: dict[MoveId, Result],
) -> Receipt:
    recorded = _recorded(event)
    again = run.choose(pilot, state, event.at)
    again = again if isinstance(again, Wait | Finish) else on_record(again)
    again = _as_then(again, recorded)
    same = msgspec.json.encode(again) == msgspec.json.encode(recorded)
    result = results.get(event.id) if isinstance(event, MoveStarted) else None
    return Receipt(
        seq=seq,
        at=event.at,
        move=recorded,
        tally=state.tally,
        warning=brakes.check(state.limits, state.tally, state.opened.at, event.at).reason,
        same=same,
        again=None if same else again,
        result=result,
        overridden=result.kind.value if isinstance(result, Failed) else "",
    )


def _recorded(event: MoveStarted | Closed) -> Work | Finish:
    if isinstance(event, Closed):
        return Finish(
            outcome=event.outcome, note=event.note, facts=event.facts, failure=event.failure
        )
    return event.move


def _as_then(again: Move, recorded: Work | Finish) -> Move:
    """What older versions did not write down is not held against their records."""
    match again, recorded:
        case Finish(), Finish():
            facts = again.facts if recorded.facts else {}
            return replace(again, facts=facts, failure=recorded.failure and again.failure)
        case OpenWorkspace(), OpenWorkspace(stash=False):
            return replace(again, stash=False)
        case Spawn(), Spawn():
            spec = {k: v for k, v in again.spec.items() if k not in LATER or k in recorded.spec}
            return replace(again, spec=spec)
        case _:
            return again
