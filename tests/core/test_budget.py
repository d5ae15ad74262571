"""K5: spent and reserved amounts together never exceed the cap."""

import functools

from hypothesis import given
from hypothesis import strategies as st

from allstop.core.budget import NOTHING, Account, Amount, Cap, Refusal, refuse, reserve, settle
from support.strategies import some

CAP = Cap(turns=6, tokens=100, cost_microusd=1000)
AMOUNTS = st.builds(
    Amount,
    turns=st.integers(0, 2),
    tokens=st.integers(0, 60),
    cost_microusd=st.integers(0, 400),
)


@given(st.lists(st.tuples(AMOUNTS, st.integers(0, 9), st.sampled_from([0, 0.5, 1])), max_size=40))
def test_k5_calls_that_overlap_as_they_like_never_pass_the_cap(steps):
    """Each call reserves an amount first and uses at most that; calls end in any order."""
    account, under_way = Account(cap=CAP), []
    for amount, which, share in steps:
        if refuse("day", account, amount) is None:
            account = reserve(account, amount)
            under_way.append(amount)
        elif under_way:
            ended = under_way.pop(which % len(under_way))
            account = settle(account, ended, part(ended, share))

        committed = account.committed
        assert committed.turns <= CAP.turns
        assert committed.tokens <= CAP.tokens
        assert committed.cost_microusd <= CAP.cost_microusd
        assert account.reserved == functools.reduce(Amount.plus, under_way, NOTHING)


def part(amount, share):
    return Amount(
        turns=int(amount.turns * share),
        tokens=int(amount.tokens * share),
        cost_microusd=int(amount.cost_microusd * share),
    )


@given(some(Amount), some(Amount))
def test_k5_settling_gives_back_what_was_reserved_and_not_used(reserved, used):
    account = settle(reserve(Account(), reserved), reserved, used)

    assert account == Account(spent=used)


@given(some(Amount))
def test_no_cap_refuses_nothing(amount):
    assert refuse("day", Account(), amount) is None


def test_k5_what_is_used_up_refuses_even_a_call_that_names_no_cost():
    full = Account(cap=Cap(cost_microusd=10), spent=Amount(cost_microusd=10))

    assert refuse("day", full, Amount(turns=1)) == Refusal("day", "cost_microusd", 10, 0, 10)


def test_a_refusal_says_which_account_and_by_how_much():
    account = Account(cap=Cap(tokens=5000), spent=Amount(tokens=3000), reserved=Amount(tokens=1500))
    refusal = refuse("sprint", account, Amount(tokens=1000))

    assert str(refusal) == "sprint: tokens 4,500 + 1,000 of 5,000"
