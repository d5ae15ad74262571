"""Hard stops: stops that no decision caused, by a person, a budget, a workspace or a merge."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from allstop.auto.state import Action, AutoState
from allstop.core import run
from allstop.core.commands import Abort, Allstop, Freeze, Pause
from allstop.core.events import Commanded, Event, MoveEnded, Waited
from allstop.core.moves import BRAKED, CUT_BY_STOP, Failed, Finish, Outcome, Wait
from allstop.core.run import Pilot, RunState


class Stop(NamedTuple):
    action: Action
    why: str


StopOf: TypeAlias = Callable[
    [Pilot[AutoState], RunState[AutoState], RunState[AutoState], Event], Stop | None
]


def stop_of(
    pilot: Pilot[AutoState], before: RunState[AutoState], after: RunState[AutoState], event: Event
) -> Stop | None:
    """The stop that an event causes against the latest decision, unless that is a pause."""
    decision = after.pilot.decision
    if decision is None or decision.action is Action.PAUSE or after.pilot.end is not None:
        return None
    match event:
        case Commanded(command=Abort() | Allstop() as command, by=by):
            return Stop(Action.STOP, f"hard stop: {by}: {type(command).__name__.lower()}")
        case Commanded(command=Pause() | Freeze() as command, by=by):
            return Stop(Action.PAUSE, f"hard stop: {by}: {type(command).__name__.lower()}")
        case MoveEnded(result=Failed(kind=kind, message=message)) if kind in BRAKED:
            why = kind.value.replace("_", " ")
            return Stop(Action.PAUSE, f"hard stop: {why}: {message}")
        case MoveEnded(result=Failed(kind=kind)) if (
            kind in CUT_BY_STOP and after.stops == before.stops
        ):
            is_own = before.open_move is not None and before.open_move.stops < before.stops
            return None if is_own or after.aborting else Stop(Action.PAUSE, "hard stop: allstop")
        case Waited(reason=reason, until=until) if until is not None:
            return Stop(Action.PAUSE, f"hard stop: budget: {reason}")
        case _ if after.pilot.decisions is not before.pilot.decisions:
            return _at_limit(pilot, after, event)
        case _ if after.pilot.paused and not before.pilot.paused:
            return Stop(Action.PAUSE, after.pilot.paused)
        case _:
            return None


def _at_limit(pilot: Pilot[AutoState], state: RunState[AutoState], event: Event) -> Stop | None:
    """The stop if the budget doesn't allow the decided move."""
    rests_until = state.pilot.wait_until
    match run.choose(pilot, state, max(event.at, rests_until or event.at)):
        case Wait(at_limit=True, reason=reason):
            return Stop(
                Action.PAUSE, f"hard stop: budget: {reason.removeprefix('limit reached: ')}"
            )
        case Finish(outcome=Outcome.BRAKED, note=note):
            return Stop(Action.STOP, f"hard stop: budget: {note}")
        case _:
            return None
