"""What a drive's turns are paid from: its run's budget, those above it, and the day's."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from allstop.core import brakes
from allstop.core.brakes import BrakeLevel, Limits, Tally, cap_of
from allstop.core.budget import NOTHING, Amount
from allstop.core.ids import RunId
from allstop.core.moves import Move, Spawn, TakeTurn
from allstop.core.run import Pilot
from allstop.engine.context import EngineContext
from allstop.engine.steps import (
    A_TURN,
    Page,
    Parked,
    Step,
    begun,
    price,
    refused,
    short,
    used_so_far,
)
from allstop.ports import Live

UNLIMITED = Limits()

S = TypeVar("S")


class Reservations(Generic[S]):
    """At most one turn of a run is under way, so at most one is reserved."""

    def __init__(self, run: RunId, pilot: Pilot[Any], context: EngineContext) -> None:
        self._run = run
        self._ends_talk = pilot.ends_when_stopped
        self._context = context
        self._reserved = NOTHING
        self._limits: Limits | None = None
        self._near = ""  # which limit was last told of

    def hold_to(self, limits: Limits, used: Tally) -> None:
        """Keep the run's account at the limits that hold now."""
        if limits is not self._limits:
            self._limits = limits
            self._context.budgets.open(self._run, cap_of(limits), used_so_far(used))

    def begin(self, page: Page[S], move: TakeTurn, before: Tally) -> Step[S]:
        """Reserve a turn and lay it out, or what happens instead of it.

        `before` is what the run had used by what is written of it.
        """
        if page.state.limits != UNLIMITED:
            self._note_a_near_limit(page)
        amount = A_TURN if move.max_tokens is None else self._price(move, move.max_tokens)
        refusal = self._context.budgets.reserve(self._run, amount)
        if refusal is not None:
            return refused(page, move, str(refusal))
        self._reserved = amount
        if self._context.days.is_limited(page.now, self._context.helm_reader.helm):
            used = used_so_far(page.state.tally).minus(used_so_far(before))
            if (instead := self._instead(page, move, used)) is not None:
                self.release(NOTHING)
                return instead
        return begun(page, move, amount)

    def _note_a_near_limit(self, page: Page[S]) -> None:
        state = page.state
        verdict = brakes.check(state.limits, state.tally, state.opened.at, page.now)
        about = verdict.reason.partition(":")[0]
        if verdict.level is BrakeLevel.SOFT and about != self._near:
            self._near = about
            self._context.show(self._run, Live("near", f"{self._run}: {verdict.reason}"))

    def hold_back(self, page: Page[S], move: Move) -> Step[S] | None:
        """Where the day has no room for turns, nobody is started who would only wait for it."""
        if not isinstance(move, Spawn) or not move.spec.get("agents"):
            return None
        found = self._context.days.short(page.now, self._context.helm_reader.helm)
        return short(page, f"limit reached: {found.reason}", found.until) if found else None

    def release(self, used: Amount) -> None:
        """The turn is over, or was not begun after all."""
        if self._reserved is not NOTHING or used is not NOTHING:
            self._context.budgets.settle(self._run, self._reserved, used)
            self._context.days.withdraw(self._run)
            self._reserved = NOTHING

    def _instead(self, page: Page[S], move: TakeTurn, used: Amount) -> Step[S] | None:
        """What happens where the turn does not fit into the day."""
        days, helm = self._context.days, self._context.helm_reader.helm
        found = days.reserve(self._run, self._reserved, used, page.now, helm)
        if warning := days.warning(page.now, helm):
            self._context.show(self._run, Live("budget", warning))
        if found is None:
            return None
        if not found.for_person:
            return page.step(Parked(found.reason, found.until, for_room=True))
        if found.ends or self._ends_talk:
            return refused(page, move, found.reason)
        return short(page, f"limit reached: {found.reason}", found.until)

    def _price(self, move: TakeTurn, tokens: int) -> Amount:
        most = self._context.most_microusd
        advice = most(move.adviser.agent, tokens) if move.adviser else 0
        return price(move, most(move.agent, tokens) + advice)
