"""Budgets of all runs: each turn or model call is reserved in every account above it first."""

from collections.abc import Iterable, Iterator

import anyio

from allstop.core import budget
from allstop.core.ids import RunId, with_ancestors
from allstop.ports import Left

SHARED = "*"
"""Prefix of the accounts that every run pays from."""


class Budgets:
    """Accounts by name. A run's turns count for the run and for all its parents."""

    def __init__(self) -> None:
        self._accounts: dict[str, budget.Account] = {}
        self._shared: list[str] = []
        self._paths: dict[RunId, tuple[str, ...]] = {}  # the accounts of each run
        self._changed: anyio.Event | None = None

    def open(self, name: str, cap: budget.Cap, spent: budget.Amount = budget.NOTHING) -> None:
        """Open an account or change its cap; its reservations stay."""
        known = self._accounts.get(name)
        if known is None:
            self._paths.clear()
            if name.startswith(SHARED):
                self._shared.append(name)
        reserved = known.reserved if known else budget.NOTHING
        self._accounts[name] = budget.Account(
            cap=cap, spent=known.spent if known else spent, reserved=reserved
        )

    def close(self, name: str) -> None:
        self._accounts.pop(name, None)
        self._paths.clear()
        if name in self._shared:
            self._shared.remove(name)

    def account(self, name: str) -> budget.Account:
        return self._accounts.get(name, budget.Account())

    def reserve(self, run: RunId, amount: budget.Amount) -> budget.Refusal | None:
        """Reserve the amount in every account of the run, or in none."""
        accounts = self._accounts
        names = self._paths.get(run) or self._find_path(run)
        for name in names:
            account = accounts[name]
            if account.cap is budget.UNCAPPED:
                continue
            if (refusal := budget.refuse(name, account, amount)) is not None:
                return refusal
        for name in names:
            accounts[name] = budget.reserve(accounts[name], amount)
        return None

    def left(self, run: RunId, *, if_settled: bool = False) -> Left:
        """What the run's accounts have left. `if_settled`: if nothing that is reserved is used."""
        names = self._paths.get(run) or self._find_path(run)
        limited = [
            self._accounts[name]
            for name in names
            if self._accounts[name].cap is not budget.UNCAPPED
        ]
        return least(left_in(account, if_settled=if_settled) for account in limited)

    def of(self, run: RunId) -> Iterator[tuple[Left, budget.Cap]]:
        """What is left in each of the run's accounts, and its limits."""
        for name in self._paths.get(run) or self._find_path(run):
            account = self._accounts[name]
            yield left_in(account), account.cap

    def hold(self, run: RunId, amount: budget.Amount) -> None:
        """Reserve for a model call, which has been compared with `left`."""
        for name in self._paths.get(run) or self._find_path(run):
            self._accounts[name] = budget.reserve(self._accounts[name], amount)

    @property
    def changed(self) -> anyio.Event:
        """Set when something that was reserved may be free, or a limit has changed."""
        if self._changed is None:
            self._changed = anyio.Event()
        return self._changed

    def notify(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def settle(self, run: RunId, reserved: budget.Amount, spent: budget.Amount) -> None:
        accounts = self._accounts
        for name in self._paths.get(run) or self._find_path(run):
            accounts[name] = budget.settle(accounts[name], reserved, spent)

    def _find_path(self, run: RunId) -> tuple[str, ...]:
        """The accounts of a run: its own, its parents' and the shared ones."""
        names = self._paths[run] = (*self._above(run), *self._shared)
        return names

    def _above(self, run: RunId) -> Iterable[str]:
        return (each for each in with_ancestors(run) if each in self._accounts)


def left_in(account: budget.Account, *, if_settled: bool = False) -> Left:
    """What an account has left. `if_settled`: if nothing that is reserved is used."""
    cap, used = account.cap, account.spent if if_settled else account.committed
    return Left(
        None if cap.tokens is None else cap.tokens - used.tokens,
        None if cap.cost_microusd is None else cap.cost_microusd - used.cost_microusd,
    )


def least(all_left: Iterable[Left]) -> Left:
    """What several accounts together leave."""
    known = list(all_left)
    tokens = [left.tokens for left in known if left.tokens is not None]
    costs = [left.microusd for left in known if left.microusd is not None]
    return Left(min(tokens, default=None), min(costs, default=None))
