"""Usage of turns, tokens and money, by agent, model, task, run, day or sprint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from allstop.core.events import Event, MoveEnded, MoveStarted, Noted
from allstop.core.ids import AgentName, RunId, label_of
from allstop.core.moves import Billable, TakeTurn, Usage, is_turn
from allstop.core.run import NO_CALLS, OpenCalls, calls_after


class By(StrEnum):
    """How turns are grouped."""

    AGENT = "agent"
    MODEL = "model"
    TASK = "task"  # all attempts at it; a room or a thread by its own name
    RUN = "run"
    DAY = "day"
    SPRINT = "sprint"


UNUSED = Usage()


class Turn(NamedTuple):
    """A finished turn. Usage of a failed turn counts, but not the turn itself, as in budgets."""

    run: RunId
    agent: AgentName
    began_at: datetime
    usage: Usage
    counts: bool


class Sum(Struct, frozen=True, gc=False, kw_only=True):
    turns: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    cost_microusd: int = 0
    partial: bool = False

    def plus(self, turn: Turn) -> Sum:
        usage = turn.usage
        return Sum(
            turns=self.turns + turn.counts,
            input=self.input + usage.input,
            cached=self.cached + usage.cached,
            output=self.output + usage.output,
            cost_microusd=self.cost_microusd + usage.cost_microusd,
            partial=self.partial or usage.partial,
        )


class Ledger:
    """Finds finished turns in the events of all runs; each run's events come in order."""

    def __init__(self) -> None:
        self._open: dict[RunId, tuple[AgentName, datetime]] = {}
        self._calls: dict[RunId, OpenCalls] = {}

    def under_way(self) -> list[Turn]:
        """The turns that have not ended, with the calls that they have made."""
        return [
            Turn(run, *self._open[run], calls.used, counts=False)
            for run, calls in self._calls.items()
            if calls.used != UNUSED
        ]

    def take(self, run: RunId, event: Event) -> Turn | None:
        """Return the turn that this event ends, if its start was seen and it used anything."""
        match event:
            case MoveStarted(move=TakeTurn(agent=agent), at=at):
                self._open[run], self._calls[run] = (agent, at), NO_CALLS
            case Noted() if run in self._calls:
                self._calls[run] = calls_after(self._calls[run], event)
            case MoveEnded(result=result) if isinstance(result, Billable):
                begun, counts = self._open.pop(run, None), is_turn(result)
                self._calls.pop(run, None)
                if begun and (counts or result.usage != UNUSED):
                    return Turn(run, *begun, result.usage, counts)
            case _:
                pass
        return None


NO_SPRINT = "no sprint"


def name_by(
    by: By, zone: tzinfo | None, sprints: Mapping[RunId, str] | None = None
) -> Callable[[Turn], str]:
    """Return the function that names a turn's group; zone None means the machine's own.

    `sprints` has the sprint of each attempt that one has started.
    """
    known = sprints or {}
    names: dict[By, Callable[[Turn], str]] = {
        By.AGENT: lambda turn: turn.agent,
        By.MODEL: lambda turn: turn.usage.model,
        By.TASK: lambda turn: label_of(turn.run),
        By.RUN: lambda turn: turn.run,
        By.DAY: lambda turn: turn.began_at.astimezone(zone).date().isoformat(),
        By.SPRINT: lambda turn: known.get(turn.run, NO_SPRINT),
    }
    return names[by]
