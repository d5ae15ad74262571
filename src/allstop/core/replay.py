"""Replays a journal: makes each decision again and compares it with the recorded one."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.core import brakes, moves, run
from allstop.core.brakes import Tally
from allstop.core.decisions import Decided
from allstop.core.events import Closed, Event, MoveEnded, MoveStarted, Opened
from allstop.core.ids import MoveId
from allstop.core.run import DecidingPilot, Pilot, RunState

S = TypeVar("S")

ADDED_SPEC_FIELDS = frozenset({"stash", "terms", "before", "edition", "stop_stashes", "criteria"})
"""Spec fields that older versions did not write into `Spawn`."""


ADDED_FACTS = frozenset({"findings", "unverified"})
"""Facts that older versions did not write into `Finish`."""


class Receipt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One decision with its inputs, its result, and whether a replay decides the same."""

    seq: int
    at: datetime
    move: moves.Work | moves.Finish
    tally: Tally
    warning: str = ""  # a limit that was near
    same: bool = True  # the replay chose the same move
    again: moves.Move | None = None  # the move the replay chose, if it is another
    result: moves.Result | None = None
    overridden: str = ""  # why the result did not count


class Difference(Struct, frozen=True, gc=False, kw_only=True):
    seq: int
    recorded: moves.Work | moves.Finish
    again: moves.Move


def receipts(pilot: Pilot[S], events: Sequence[Event]) -> list[Receipt]:
    """A receipt for each decision in the journal, oldest first."""
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
    """Where this pilot chooses another move than the recorded one."""
    return [
        Difference(seq=r.seq, recorded=r.move, again=r.again)
        for r in receipts(pilot, events)
        if r.again is not None
    ]


class DecisionDifference(Struct, frozen=True, gc=False, kw_only=True):
    """A recorded Full Auto decision for which the replay gives another decision or other inputs."""

    seq: int
    recorded: Decided
    again: Decided | None


def redecided(pilot: Pilot[S], events: Sequence[Event]) -> list[DecisionDifference]:
    """Where a recorded Full Auto decision does not follow from the events before it."""
    opened = events[0]
    assert isinstance(opened, Opened), "a journal starts with Opened"
    if not isinstance(pilot, DecidingPilot):
        return []
    state = run.begin(pilot, opened)
    found = []
    for seq, event in enumerate(events[1:], start=2):
        before, state = state.pilot, run.evolve(pilot, state, event)
        if isinstance(event, MoveEnded) and event.decided is not None:
            again = pilot.decided(before, state.pilot)
            if again != event.decided:
                found.append(DecisionDifference(seq=seq, recorded=event.decided, again=again))
    return found


def count_decisions(events: Sequence[Event]) -> int:
    """How many Full Auto decisions the events record."""
    return sum(isinstance(event, MoveEnded) and event.decided is not None for event in events)


def _receipt(
    pilot: Pilot[S],
    state: RunState[S],
    seq: int,
    event: MoveStarted | Closed,
    results: dict[MoveId, moves.Result],
) -> Receipt:
    recorded = _recorded(event)
    again = run.choose(pilot, state, event.at)
    again = (
        again if isinstance(again, moves.Wait | moves.Finish) else moves.without_prompt_text(again)
    )
    again = _without_added_fields(again, recorded)
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
        overridden=result.kind.value if isinstance(result, moves.Failed) else "",
    )


def _recorded(event: MoveStarted | Closed) -> moves.Work | moves.Finish:
    if isinstance(event, Closed):
        return moves.Finish(
            outcome=event.outcome, note=event.note, facts=event.facts, failure=event.failure
        )
    return event.move


def _without_added_fields(again: moves.Move, recorded: moves.Work | moves.Finish) -> moves.Move:
    """Drop fields that older versions did not write, so that their journals compare equal."""
    match again, recorded:
        case moves.Finish(), moves.Finish():
            known = again.facts.items() if recorded.facts else ()
            facts = {k: v for k, v in known if k not in ADDED_FACTS or k in recorded.facts}
            return replace(again, facts=facts, failure=recorded.failure and again.failure)
        case moves.OpenWorkspace(), moves.OpenWorkspace(stash=False):
            return replace(again, stash=False)
        case moves.Spawn(), moves.Spawn():
            spec = {
                k: v
                for k, v in again.spec.items()
                if k not in ADDED_SPEC_FIELDS or k in recorded.spec
            }
            return replace(again, spec=spec)
        case _:
            return again
