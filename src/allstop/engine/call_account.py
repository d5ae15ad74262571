"""The account of one turn's model calls: each is reserved in every budget above the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from allstop.core.budget import Amount, Cap
from allstop.core.ids import RunId
from allstop.core.moves import Usage
from allstop.core.run import NO_CALLS, NO_USAGE
from allstop.engine.budgets import Budgets, least
from allstop.ports import Left, P


def amount_of(usage: Usage) -> Amount:
    return Amount(tokens=usage.tokens, cost_microusd=usage.cost_microusd, partial=usage.partial)


def account_within(max_tokens: int | None) -> TurnAccount:
    """The account of a turn that no run pays for, such as a trial."""
    run, budgets = RunId("trial"), Budgets()
    budgets.open(run, Cap(tokens=max_tokens))
    return TurnAccount(run, budgets)


class SharedBudgets(Protocol):
    """The budgets that a run shares with runs of other processes."""

    async def catch_up(self) -> None: ...
    def left(self, *, if_settled: bool = False) -> Left: ...
    def hold(self, account: TurnAccount) -> None: ...


Record = Callable[[int, Amount], Awaitable[bool]]
"""Writes a reservation to the journal; False if others wrote first, so that it must be repeated."""


RETRY_S = 0.5
"""After a refused record, unless something is written before: calls that have ended may be
written later."""


class TurnAccount:
    """Pays from the turn's own reservation if it has one, else from all budgets of the run.

    Within this process nothing is awaited between the look at a budget and the reservation. The
    journal refuses the record of a reservation if another process has written meanwhile.
    """

    def __init__(
        self,
        run: RunId,
        budgets: Budgets,
        own: Amount | None = None,
        *,
        shared: SharedBudgets | None = None,
        record: Record | None = None,
        refresh: Callable[[], None] = lambda: None,
    ) -> None:
        """`own`: what is reserved for the whole turn. `refresh` applies changed limits."""
        self.calls = NO_CALLS
        self._run = run
        self._budgets = budgets
        self._own = own
        self._shared = shared
        self._record = record
        self._refresh = refresh
        self._number = 0
        self._lock = anyio.Lock()

    @property
    def used(self) -> Amount:
        """What is charged already; a turn's own reservation is charged at its end."""
        return amount_of(NO_USAGE if self._own else self.calls.used)

    @property
    def reserved(self) -> Amount:
        """What calls under way hold, besides the turn's own reservation."""
        return amount_of(NO_USAGE) if self._own else self.calls.reserved

    @property
    def left(self) -> Left:
        return self._left()

    @property
    def left_if_settled(self) -> Left:
        return self._left(if_settled=True)

    def _left(self, *, if_settled: bool = False) -> Left:
        """`if_settled`: if the calls under way used nothing."""
        left = self._budgets.left(self._run, if_settled=if_settled)
        if self._shared is not None:
            left = least([left, self._shared.left(if_settled=if_settled)])
        if self._own is None:
            return left
        used = amount_of(self.calls.used if if_settled else self.calls.most)
        tokens = self._own.tokens - used.tokens
        if left.microusd is None:
            return Left(tokens, None)
        own = 0 if if_settled else self._own.cost_microusd  # else it isn't counted as reserved
        return Left(tokens, left.microusd + own - used.cost_microusd)

    async def reserve(self, plan: Callable[[Left], P | None]) -> tuple[int, P] | None:
        async with self._lock:
            while True:
                changed = self._budgets.changed
                if self._shared is not None:
                    await self._shared.catch_up()
                self._refresh()
                left = self._left()
                planned = plan(left)
                if planned is not None:
                    amount = Amount(tokens=planned.tokens, cost_microusd=planned.cost_microusd)
                    if await self._hold(amount, is_limited=left != Left(None, None)):
                        return self._number, planned
                    with anyio.move_on_after(RETRY_S):
                        await changed.wait()
                elif plan(self.left_if_settled) is None:
                    return None
                else:
                    await changed.wait()

    async def _hold(self, amount: Amount, *, is_limited: bool) -> bool:
        self._number += 1
        self.calls = self.calls.reserve(self._number, amount)
        if self._own is not None:
            return True
        self._budgets.hold(self._run, amount)
        if self._shared is not None:
            self._shared.hold(self)
        if self._record is None or not is_limited:
            return True
        is_recorded = False
        try:
            is_recorded = await self._record(self._number, amount)
        finally:
            if not is_recorded:
                self.settle(self._number, NO_USAGE)
        return is_recorded

    def settle(self, number: int, used: Usage) -> None:
        reserved = self.calls.under_way[number]
        self.calls = self.calls.settle(number, used)
        if self._own is None:
            self._budgets.settle(self._run, reserved, amount_of(used))
            if self._shared is not None:
                self._shared.hold(self)
        self._budgets.notify()
