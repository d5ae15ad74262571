"""Reservations of a run's turns in its own, its parents' and the daily budget."""

from datetime import datetime
from typing import Any, Generic, TypeVar

from allstop.core import brakes
from allstop.core.brakes import BrakeLevel, Limits, Tally, cap_of
from allstop.core.budget import NOTHING, Amount
from allstop.core.daily_budget import price
from allstop.core.ids import RunId
from allstop.core.moves import Move, Spawn, TakeTurn
from allstop.core.run import Pilot
from allstop.engine import steps
from allstop.engine.context import EngineContext
from allstop.ports import Live

UNLIMITED = Limits()

S = TypeVar("S")


class Reservations(Generic[S]):
    """Holds at most one reservation, because a run has at most one open turn."""

    def __init__(self, run: RunId, pilot: Pilot[Any], context: EngineContext) -> None:
        self._run = run
        self._ends_talk = pilot.ends_when_stopped
        self._context = context
        self._reserved = NOTHING
        self._limits: Limits | None = None
        self._warned_limit = ""

    def hold_to(self, limits: Limits, used: Tally) -> None:
        """Update the run's account to its current limits."""
        if limits is not self._limits:
            self._limits = limits
            self._context.budgets.open(self._run, cap_of(limits), steps.used_so_far(used))

    def begin(self, pending: steps.PendingWrite[S], move: TakeTurn, before: Tally) -> steps.Step[S]:
        """Reserve a turn and return its step, or the step of a refusal.

        `before` is the usage that is already written.
        """
        if pending.state.limits != UNLIMITED:
            self._note_a_near_limit(pending)
        amount = steps.ONE_TURN if move.max_tokens is None else self._price(move, move.max_tokens)
        refusal = self._context.budgets.reserve(self._run, amount)
        if refusal is not None:
            return steps.refused_step(pending, move, str(refusal))
        self._reserved = amount
        if self._context.daily_budget.is_limited(pending.now, self._context.helm_reader.helm):
            used = steps.used_so_far(pending.state.tally).minus(steps.used_so_far(before))
            if (instead := self._refused_by_day(pending, move, used)) is not None:
                self.release(NOTHING)
                return instead
        return steps.started_step(pending, move, amount)

    def _note_a_near_limit(self, pending: steps.PendingWrite[S]) -> None:
        state = pending.state
        verdict = brakes.check(state.limits, state.tally, state.opened.at, pending.now)
        about = verdict.reason.partition(":")[0]
        if verdict.level is BrakeLevel.SOFT and about != self._warned_limit:
            self._warned_limit = about
            self._context.show(self._run, Live("near", f"{self._run}: {verdict.reason}"))

    def hold_back(self, pending: steps.PendingWrite[S], move: Move) -> steps.Step[S] | None:
        """Start no child that would only wait for the daily budget."""
        if not isinstance(move, Spawn) or not move.spec.get("agents"):
            return None
        found = self._context.daily_budget.current_refusal(
            pending.now, self._context.helm_reader.helm
        )
        return (
            steps.day_limit_step(pending, f"limit reached: {found.reason}", found.until)
            if found
            else None
        )

    def tokens_left(self, now: datetime) -> int | None:
        """The tokens that a turn without a cap of its own may use; None: no limit."""
        day = self._context.daily_budget.tokens_left(now, self._context.helm_reader.helm)
        left = [day, self._context.budgets.tokens_left(self._run)]
        return min((each for each in left if each is not None), default=None)

    def microusd_left(self, now: datetime) -> int | None:
        """The money that the turn under way may use, its reservation included; None: no limit."""
        day = self._context.daily_budget.microusd_left(now, self._context.helm_reader.helm)
        left = [day, self._context.budgets.microusd_left(self._run)]
        least = min((each for each in left if each is not None), default=None)
        return None if least is None else least + self._reserved.cost_microusd

    def release(self, used: Amount) -> None:
        """Settle the reservation after the turn ended or wasn't started."""
        if self._reserved is not NOTHING or used is not NOTHING:
            self._context.budgets.settle(self._run, self._reserved, used)
            self._context.daily_budget.withdraw(self._run)
            self._reserved = NOTHING

    def _refused_by_day(
        self, pending: steps.PendingWrite[S], move: TakeTurn, used: Amount
    ) -> steps.Step[S] | None:
        """The step if the turn doesn't fit into the daily budget, else None."""
        daily_budget, helm = self._context.daily_budget, self._context.helm_reader.helm
        found = daily_budget.reserve(self._run, self._reserved, used, pending.now, helm)
        if warning := daily_budget.warning(pending.now, helm):
            self._context.show(self._run, Live("budget", warning))
        if found is None:
            return None
        if not found.for_person:
            return pending.step(steps.Waiting(found.reason, found.until, for_room=True))
        if found.ends or self._ends_talk:
            return steps.refused_step(pending, move, found.reason)
        return steps.day_limit_step(pending, f"limit reached: {found.reason}", found.until)

    def _price(self, move: TakeTurn, tokens: int) -> Amount:
        most = self._context.most_microusd
        advice = most(move.adviser.agent, tokens) if move.adviser else 0
        return price(move, most(move.agent, tokens) + advice)
