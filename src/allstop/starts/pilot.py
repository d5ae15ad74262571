"""The pilot of a queued start: it waits until a person approves or rejects it."""

from msgspec import Struct
from msgspec.structs import replace

from allstop.core import events, moves
from allstop.core.commands import Approve, Reject
from allstop.core.run import PilotContext


class QueuedStart(Struct, frozen=True, gc=False, kw_only=True):
    name: str
    request: dict[str, object]  # the body of `POST /runs` that starts the run
    end: moves.Outcome | None = None


class StartPilot:
    kind = "start"
    ends_when_stopped = False
    needs_slots = False

    def begin(self, spec: dict[str, object]) -> QueuedStart:
        request = spec["request"]
        assert isinstance(request, dict), "a start stores its request"
        return QueuedStart(name=str(spec["name"]), request=request)

    def evolve(self, state: QueuedStart, event: events.Event) -> QueuedStart:
        match event:
            case events.Commanded(command=Approve()):
                return replace(state, end=moves.Outcome.DONE)
            case events.Commanded(command=Reject()):
                return replace(state, end=moves.Outcome.ABORTED)
            case _:
                return state

    def undelivered(self, state: QueuedStart) -> tuple[str, ...]:
        return ()

    def next_move(self, state: QueuedStart, context: PilotContext) -> moves.Move:
        if state.end is not None:
            return moves.Finish(outcome=state.end)
        reason = f"this start waits for your approval: allstop approve {state.name}"
        return moves.Wait(reason=reason, for_person=True)
