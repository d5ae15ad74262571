"""Budgets of all runs: each turn is reserved in every account above it before it starts."""

from collections.abc import Iterable

from allstop.core import budget
from allstop.core.ids import RunId, with_ancestors

SHARED = "*"
"""Prefix of the accounts that every run pays from."""


class Budgets:
    """Accounts by name. A run's turns count for the run and for all its parents."""

    def __init__(self) -> None:
        self._accounts: dict[str, budget.Account] = {}
        self._shared: list[str] = []
        self._paths: dict[RunId, tuple[str, ...]] = {}  # the accounts of each run

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

    def tokens_left(self, run: RunId) -> int | None:
        """The tokens that the run's accounts have left; None: no limit."""
        left = [
            account.cap.tokens - account.committed.tokens
            for account in self._above_run(run)
            if account.cap.tokens is not None
        ]
        return min(left, default=None)

    def microusd_left(self, run: RunId) -> int | None:
        """The money that the run's accounts have left; None: no limit."""
        left = [
            account.cap.cost_microusd - account.committed.cost_microusd
            for account in self._above_run(run)
            if account.cap.cost_microusd is not None
        ]
        return min(left, default=None)

    def settle(self, run: RunId, reserved: budget.Amount, spent: budget.Amount) -> None:
        accounts = self._accounts
        for name in self._paths.get(run) or self._find_path(run):
            accounts[name] = budget.settle(accounts[name], reserved, spent)

    def _above_run(self, run: RunId) -> list[budget.Account]:
        return [self._accounts[name] for name in self._paths.get(run) or self._find_path(run)]

    def _find_path(self, run: RunId) -> tuple[str, ...]:
        """The accounts of a run: its own, its parents' and the shared ones."""
        names = self._paths[run] = (*self._above(run), *self._shared)
        return names

    def _above(self, run: RunId) -> Iterable[str]:
        return (each for each in with_ancestors(run) if each in self._accounts)
