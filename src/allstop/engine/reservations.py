"""Reservations of a run's turns and calls in its own, its parents' and the daily budget."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, NamedTuple, TypeVar

import anyio
from msgspec.structs import replace

from allstop.core import brakes
from allstop.core.brakes import SOFT_SHARE, BrakeLevel, Limits, Tally, cap_of
from allstop.core.budget import NOTHING, Amount
from allstop.core.daily_budget import price
from allstop.core.ids import RunId
from allstop.core.moves import Move, Spawn, TakeTurn
from allstop.core.run import Pilot
from allstop.engine import steps
from allstop.engine.budgets import least
from allstop.engine.call_account import TurnAccount
from allstop.engine.context import EngineContext
from allstop.engine.daily_budget import OpenTurn
from allstop.engine.retry_read import retry_read
from allstop.ports import Left, Live, Room

UNLIMITED = Limits()

ROOM_RETRY_S = 0.5


class WriteCheck(NamedTuple):
    """What the journal has to check when it writes a reservation."""

    place: int | None  # no other process has written after it; or, in a store that counts turns:
    rooms: tuple[Room, ...]


CallRecorder = Callable[[int, Amount, WriteCheck | None], Awaitable[bool]]
"""Records a call's reservation, if it fits into the budgets that processes share."""

S = TypeVar("S")


def is_near(left: int | None, most: int | None) -> bool:
    """Whether so much of a limit is used that a person would be warned."""
    return left is not None and bool(most) and left <= (1 - SOFT_SHARE) * (most or 0)


class RunsSharedBudgets:
    """The budgets that a run shares with other processes: the day's, and those of runs above it."""

    def __init__(self, run: RunId, own: Amount, context: EngineContext) -> None:
        self._run = run
        self._own = own
        self._context = context

    async def catch_up(self) -> None:
        if self._has_daily_limit or self._context.parent_budgets.is_shared:
            await retry_read(self._catch_up, lambda live: self._context.show(self._run, live))

    async def _catch_up(self) -> None:
        if self._has_daily_limit:
            await self._context.daily_budget.catch_up(self._context.clock.now())
        await self._context.parent_budgets.catch_up(self._run)

    def left(self, *, if_settled: bool = False) -> Left:
        above = self._context.parent_budgets.left(self._run, if_settled=if_settled)
        return least([above, self.left_today(if_settled=if_settled)])

    def left_today(self, *, if_settled: bool = False) -> Left:
        if not self._has_daily_limit:
            return Left(None, None)
        helm, now = self._context.helm_reader.helm, self._context.clock.now()
        return self._context.daily_budget.left(now, helm, if_settled=if_settled)

    def hold(self, account: TurnAccount) -> None:
        if self._has_daily_limit:
            self._context.daily_budget.hold(self._run, self._own, account)
        self._context.parent_budgets.hold(self._run, OpenTurn(self._own, account.calls))

    def check(self, asked: Amount) -> WriteCheck | None:
        """What the journal has to check for a turn or a call; None if nothing is limited."""
        helm, now = self._context.helm_reader.helm, self._context.clock.now()
        rooms = tuple(self._context.parent_budgets.rooms(self._run, asked))
        day = self._context.daily_budget.check(asked, now, helm)
        if day is not None:
            return WriteCheck(day.place, (day.room, *rooms))
        return WriteCheck(None, rooms) if rooms else None

    @property
    def _has_daily_limit(self) -> bool:
        helm = self._context.helm_reader.helm
        return self._context.daily_budget.is_limited(self._context.clock.now(), helm)


class Reservations(Generic[S]):
    """Holds at most one reservation, because a run has at most one open turn."""

    def __init__(self, run: RunId, pilot: Pilot[Any], context: EngineContext) -> None:
        self._run = run
        self._ends_talk = pilot.ends_when_stopped
        self._context = context
        self._reserved = NOTHING
        self._account: TurnAccount | None = None  # of the open turn
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
        used = steps.used_so_far(pending.state.tally).minus(steps.used_so_far(before))
        refusal = self._context.parent_budgets.reserve(self._run, amount, used)
        if refusal is not None:
            self.release(NOTHING)
            return steps.refused_step(pending, move, str(refusal))
        is_limited = self._context.daily_budget.is_limited
        if is_limited(pending.now, self._context.helm_reader.helm) and (
            instead := self._refused_by_day(pending, move, used)
        ):
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

    async def catch_up(self) -> None:
        """Learn what other processes have used of the budgets that are shared with them."""
        await RunsSharedBudgets(self._run, NOTHING, self._context).catch_up()

    async def changed(self) -> None:
        """Wait until something that was reserved may be free.

        An end of a model call is written up to a second later, and by other processes.
        """
        with anyio.move_on_after(ROOM_RETRY_S):
            await self._context.budgets.changed.wait()

    def check(self) -> WriteCheck | None:
        """What the journal has to check for the turn that is reserved."""
        return RunsSharedBudgets(self._run, NOTHING, self._context).check(self._reserved)

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

    def open_account(
        self, move: TakeTurn, refresh: Callable[[], None], record: CallRecorder
    ) -> TurnAccount:
        """The account of the turn that begins. `refresh` applies limits that were changed."""
        shared = RunsSharedBudgets(self._run, self._reserved, self._context)
        self._account = TurnAccount(
            self._run,
            self._context.budgets,
            None if move.max_tokens is None else replace(self._reserved, tokens=move.max_tokens),
            shared=shared,
            record=lambda number, amount: record(number, amount, shared.check(amount)),
            refresh=refresh,
        )
        return self._account

    def near_end(self, left: Left) -> str:
        """What to tell the agent if a budget is nearly used up; "" if none is."""
        now, helm = self._context.clock.now(), self._context.helm_reader.helm
        limits = self._context.daily_budget.limits_at(now, helm)
        day = RunsSharedBudgets(self._run, self._reserved, self._context).left_today()
        tokens = is_near(day.tokens, limits.tokens)
        cost = is_near(day.microusd, limits.cost_microusd)
        above = self._context.parent_budgets.of(self._run)
        for account, cap in (*self._context.budgets.of(self._run), *above):
            tokens |= is_near(account.tokens, cap.tokens)
            cost |= is_near(account.microusd, cap.cost_microusd)
        parts = []
        if tokens and left.tokens is not None:
            parts.append(f"{max(0, left.tokens):,} tokens")
        if cost and left.microusd is not None:
            parts.append(f"${max(0, left.microusd) / 1e6:.2f}")
        if not parts:
            return ""
        return (
            f"The budget of this work is nearly used up: {' and '.join(parts)} are left, for "
            "everything that is sent and said. Finish the most important part first."
        )

    def release(self, used: Amount) -> None:
        """Settle the reservation after the turn ended or wasn't started."""
        reserved, account = self._reserved, self._account
        if account is not None:  # its calls are charged already, as far as they are known
            reserved, used = reserved.plus(account.reserved), used.minus(account.used)
        if reserved is not NOTHING or used is not NOTHING:
            self._context.budgets.settle(self._run, reserved, used)
            self._context.budgets.notify()
            self._context.daily_budget.withdraw(self._run)
            self._context.parent_budgets.withdraw(self._run)
            self._reserved, self._account = NOTHING, None

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
