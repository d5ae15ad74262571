"""A small board for tests: so many tasks, so many at once; done when all of them are over.

It is a pilot like any other, and no file of the package knows of it.
"""

from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.core.brakes import Limits
from allstop.core.events import ChildClosed, Event, MoveStarted
from allstop.core.moves import Finish, Move, Outcome, Spawn, Wait
from allstop.core.run import PilotContext


class FanOutSpec(Struct, frozen=True, kw_only=True):
    tasks: dict[str, dict[str, object]]  # by their refs
    at_once: int = 2
    kind: str = "task"
    limits: Limits = Limits()  # of each child


class FanOutState(Struct, frozen=True, kw_only=True):
    spec: FanOutSpec
    waiting: tuple[str, ...]
    afloat: tuple[str, ...] = ()
    home: dict[str, Outcome] = {}
    last_at: datetime | None = None


class FanOutPilot:
    kind = "fleet"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> FanOutState:
        fleet = msgspec.convert(spec, FanOutSpec)
        return FanOutState(spec=fleet, waiting=tuple(fleet.tasks))

    def evolve(self, state: FanOutState, event: Event) -> FanOutState:
        match event:
            case MoveStarted(move=Spawn(ref=ref)):
                waiting = tuple(other for other in state.waiting if other != ref)
                return replace(state, waiting=waiting, afloat=(*state.afloat, ref))
            case ChildClosed(ref=ref, outcome=outcome, at=at):
                afloat = tuple(other for other in state.afloat if other != ref)
                home = {**state.home, ref: outcome}
                return replace(state, afloat=afloat, home=home, last_at=at)
            case _:
                return state

    def undelivered(self, state: FanOutState) -> tuple[str, ...]:
        return ()

    def next_move(self, state: FanOutState, context: PilotContext) -> Move:
        spec = state.spec
        if state.waiting and len(state.afloat) < spec.at_once:
            ref = state.waiting[0]
            return Spawn(kind=spec.kind, ref=ref, spec=spec.tasks[ref], limits=spec.limits)
        if state.afloat:
            return Wait(reason=f"{len(state.afloat)} at sea")
        lost = [ref for ref, outcome in state.home.items() if outcome is not Outcome.DONE]
        if lost:
            return Finish(outcome=Outcome.FAILED, note=f"lost: {', '.join(sorted(lost))}")
        return Finish(outcome=Outcome.DONE)
