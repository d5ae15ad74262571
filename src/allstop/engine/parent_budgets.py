"""Budgets of the runs above those of this process, where other processes drive them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from allstop.core import budget
from allstop.core.brakes import cap_of
from allstop.core.budget import NOTHING, UNCAPPED, Account, Amount, Cap
from allstop.core.ids import RunId, with_ancestors
from allstop.engine.budgets import least, left_in
from allstop.engine.daily_budget import OpenTurn
from allstop.ports import Left, Room, RunBudgets, StoreTroubleError


class ParentAccount(NamedTuple):
    """A limited run above another, as the store knows it."""

    run: RunId
    account: Account
    without: frozenset[RunId]  # runs of this process, whose open turns aren't in the account


class ParentBudgets:
    """Knows what the runs of other machines left over.

    The store is asked before each turn and each model call. Turns that are open in this process
    count as it knows them, because it writes of their calls later. The store refuses the write of
    a reservation that doesn't fit any more.
    """

    def __init__(self, store: RunBudgets | None) -> None:
        """Without a store, this process drives the runs above, and counts them itself."""
        self._store = store
        self._caps: dict[RunId, Cap | None] = {}  # None: not known yet
        self._stale: set[RunId] = set()  # runs that were written to since
        self._above: dict[RunId, list[ParentAccount]] = {}
        self._open: dict[RunId, OpenTurn] = {}  # turns of this process

    @property
    def is_shared(self) -> bool:
        """Whether other processes drive the runs above."""
        return self._store is not None

    def note_write(self, run: RunId) -> None:
        """A write to a run may have changed its limits."""
        if run in self._caps:
            self._stale.add(run)

    async def catch_up(self, run: RunId) -> None:
        """Ask the store about the limited runs above."""
        if self._store is None:
            return
        found = []
        for parent in list(with_ancestors(run))[1:]:
            if (cap := await self._cap(self._store, parent)) != UNCAPPED:
                without = frozenset([run, *self._open])
                used = await self._store.used_below(parent, without)
                found.append(ParentAccount(parent, replace(used, cap=cap), without))
        self._above[run] = found

    async def _cap(self, store: RunBudgets, run: RunId) -> Cap:
        known = self._caps.setdefault(run, None)
        if known is not None and run not in self._stale:
            return known
        self._stale.discard(run)
        try:
            cap = self._caps[run] = cap_of(await store.limits(run))
        except StoreTroubleError:
            self._stale.add(run)
            if known is None or known != UNCAPPED:
                raise
            return known  # an agent goes on while the store is away
        return cap

    def reserve(self, run: RunId, asked: Amount, used: Amount) -> budget.Refusal | None:
        """Reserve a turn, or say why it doesn't fit.

        `used` is the usage of the run's last turn if it isn't written yet. Call it directly after
        `catch_up`, without awaiting anything in between.
        """
        for parent in self._above.get(run, ()):
            account = self._with_open_turns(parent, run)
            account = replace(account, spent=account.spent.plus(used))
            if (refusal := budget.refuse(parent.run, account, asked)) is not None:
                return refusal
        self.hold(run, OpenTurn(asked))
        return None

    def hold(self, run: RunId, turn: OpenTurn) -> None:
        """Count an open turn of this process as it is, before all of it is written."""
        if self._store is not None:
            self._open[run] = turn

    def withdraw(self, run: RunId) -> None:
        """The turn has ended, or wasn't written; from now on it counts as the store knows it."""
        self._open.pop(run, None)

    def leave(self, run: RunId) -> None:
        """This process drives the run no longer."""
        self._open.pop(run, None)
        self._above.pop(run, None)

    def rooms(self, run: RunId, asked: Amount) -> Iterator[Room]:
        """What the store has to check for a turn, or a call, of the run."""
        for parent in self._above.get(run, ()):
            cap = parent.account.cap
            if not asked.turns:  # of a call: its turn is counted already
                cap = replace(cap, turns=None)
            yield Room(cap, replace(asked, partial=False), above=parent.run)

    def left(self, run: RunId, *, if_settled: bool = False) -> Left:
        """What the runs above have left. `if_settled`: if calls under way use nothing more."""
        return least(left for left, _ in self.of(run, if_settled=if_settled))

    def of(self, run: RunId, *, if_settled: bool = False) -> Iterator[tuple[Left, Cap]]:
        """What is left in each of the runs above, and its limits."""
        for parent in self._above.get(run, ()):
            account = self._with_open_turns(parent)
            yield left_in(account, if_settled=if_settled), account.cap

    def _with_open_turns(self, parent: ParentAccount, except_for: str = "") -> Account:
        turns = [
            self._open[run] for run in parent.without if run in self._open and run != except_for
        ]
        used = _sum(turn.used for turn in turns)
        reserved = _sum(turn.amount.minus(turn.used) for turn in turns)
        account = parent.account
        return replace(
            account, spent=account.spent.plus(used), reserved=account.reserved.plus(reserved)
        )


def _sum(amounts: Iterable[Amount]) -> Amount:
    total = NOTHING
    for amount in amounts:
        total = total.plus(amount)
    return total
