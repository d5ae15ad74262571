"""K5: a turn is reserved in all its budgets or in none."""

import functools

from hypothesis import given
from hypothesis import strategies as st

from allstop.core.budget import NOTHING, Account, Amount, Cap
from allstop.engine.budgets import Budgets

RUNS = ("f", "f/a", "f/a/x", "f/b", "g")
TURN = Amount(turns=1, tokens=40)
STEPS = st.lists(
    st.tuples(st.sampled_from(RUNS), st.integers(0, 60), st.integers(0, 20)), max_size=40
)


def above(run):
    """A run and everybody it pays for."""
    names = [run]
    while "/" in names[-1]:
        names.append(names[-1].rpartition("/")[0])
    return [*names, "*day"]


@given(STEPS)
def test_k5_no_interleaving_of_turns_passes_any_budget(steps):
    """Nested and parallel runs, overlapping turns, usage up to the reservation."""
    caps = {"f": 150, "f/a": 100, "g": 80, "*day": 200}
    budgets, under_way, spent = Budgets(), [], dict.fromkeys([*RUNS, "*day"], 0)
    for name in [*RUNS, "*day"]:
        budgets.open(name, Cap(tokens=caps.get(name)))
    for run, tokens, which in steps:
        amount = Amount(tokens=tokens)
        if budgets.reserve(run, amount) is None:
            under_way.append((run, amount))
        elif under_way:
            done, reserved = under_way.pop(which % len(under_way))
            used = Amount(tokens=reserved.tokens * which // 20)
            budgets.settle(done, reserved, used)
            for name in above(done):
                spent[name] += used.tokens

        for name in [*RUNS, "*day"]:
            held = [reserved for at, reserved in under_way if name in above(at)]
            account = budgets.account(name)
            assert account.reserved == functools.reduce(Amount.plus, held, NOTHING)
            assert account.spent.tokens == spent[name]
            assert account.committed.tokens <= caps.get(name, 10**9)


def test_k5_a_refusal_by_one_budget_reserves_nothing_in_the_others():
    budgets = Budgets()
    budgets.open("f", Cap(tokens=30))
    budgets.open("f/a", Cap(tokens=1000))
    refusal = budgets.reserve("f/a", TURN)

    assert str(refusal) == "f: tokens 0 + 40 of 30"
    assert budgets.account("f/a").reserved == NOTHING


def test_k6_a_new_cap_keeps_what_is_spent_and_what_is_reserved():
    budgets = Budgets()
    budgets.open("f", Cap(tokens=100), Amount(tokens=7))
    budgets.reserve("f", TURN)
    budgets.open("f", Cap(tokens=500), Amount(tokens=9999))

    assert budgets.account("f") == Account(
        cap=Cap(tokens=500), spent=Amount(tokens=7), reserved=TURN
    )


def test_names_that_only_begin_alike_are_not_above_each_other():
    budgets = Budgets()
    budgets.open("board", Cap(tokens=10))

    assert budgets.reserve("board2/a", TURN) is None
    assert budgets.account("board").reserved == NOTHING


def test_what_is_everybodys_counts_for_every_run_until_it_is_closed():
    budgets = Budgets()
    budgets.open("*day", Cap(turns=1))
    assert budgets.reserve("a", TURN) is None
    assert str(budgets.reserve("b", TURN)) == "*day: turns 1 + 1 of 1"
    budgets.close("*day")

    assert budgets.reserve("b", TURN) is None
