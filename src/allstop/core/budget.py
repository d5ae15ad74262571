"""Budgets that several runs share: reserved before a call, settled after it."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct


class Amount(Struct, frozen=True, gc=False, kw_only=True):
    turns: int = 0
    tokens: int = 0
    cost_microusd: int = 0
    partial: bool = False  # more was used than agents reported

    def plus(self, other: Amount) -> Amount:
        return Amount(
            turns=self.turns + other.turns,
            tokens=self.tokens + other.tokens,
            cost_microusd=self.cost_microusd + other.cost_microusd,
            partial=self.partial or other.partial,
        )

    def minus(self, other: Amount) -> Amount:
        return Amount(
            turns=self.turns - other.turns,
            tokens=self.tokens - other.tokens,
            cost_microusd=self.cost_microusd - other.cost_microusd,
        )


NOTHING = Amount()


class Cap(Struct, frozen=True, gc=False, kw_only=True):
    """The limits of one account; None means no limit."""

    turns: int | None = None
    tokens: int | None = None
    cost_microusd: int | None = None


UNCAPPED = Cap()


class Account(Struct, frozen=True, gc=False, kw_only=True):
    """The budget of a run, a task, a sprint or a day, with its spending."""

    cap: Cap = UNCAPPED
    spent: Amount = NOTHING
    reserved: Amount = NOTHING

    @property
    def committed(self) -> Amount:
        return self.spent.plus(self.reserved)


class Refusal(NamedTuple):
    account: str
    what: str
    committed: int
    asked: int
    cap: int

    def __str__(self) -> str:
        if self.what == "cost_microusd":
            have, ask, most = (f"${n / 1e6:.2f}" for n in (self.committed, self.asked, self.cap))
            return f"{self.account}: cost {have} + {ask} of {most}"
        return f"{self.account}: {self.what} {self.committed:,} + {self.asked:,} of {self.cap:,}"


def refuse(name: str, account: Account, amount: Amount) -> Refusal | None:
    """Why `amount` doesn't fit. A budget that is used up refuses even an amount of zero."""
    if account.cap is UNCAPPED:
        return None
    committed = account.committed
    for what in ("turns", "tokens", "cost_microusd"):
        cap = getattr(account.cap, what)
        have, ask = getattr(committed, what), getattr(amount, what)
        if cap is not None and (have + ask > cap or have >= cap):
            return Refusal(name, what, have, ask, cap)
    return None


def reserve(account: Account, amount: Amount) -> Account:
    before = account.reserved
    reserved = amount if before is NOTHING else before.plus(amount)
    return Account(cap=account.cap, spent=account.spent, reserved=reserved)


def settle(account: Account, reserved: Amount, spent: Amount) -> Account:
    before = account.reserved
    return Account(
        cap=account.cap,
        spent=account.spent.plus(spent),
        reserved=NOTHING if before is reserved else before.minus(reserved),
    )
