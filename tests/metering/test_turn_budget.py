"""G5, K5: the calls of a turn never use more than its budget, however they overlap."""

from hypothesis import given, settings
from hypothesis import strategies as st

from allstop.metering.request_body import MIN_OUTPUT, ModelCall
from allstop.metering.turn_budget import (
    HIDDEN_TOKENS,
    LONGEST_REPLY,
    Denied,
    Reservation,
    TurnBudget,
    usage_of,
)
from allstop.metering.usage import CallUsage, Reported, as_count
from allstop.metering.wire_formats import WireFormat
from support.sweeps import short


def call(size=3000, wanted=None):
    return ModelCall(
        wire=WireFormat.CHAT, model="m", is_stream=True, wanted=wanted, size=size, body={}
    )


INPUT = 1000 + HIDDEN_TOKENS
"""What is expected of 3000 bytes."""


def test_g5_a_call_gets_what_is_left_or_what_it_wants():
    budget = TurnBudget(INPUT + 500)

    assert budget.reserve(call(wanted=200)) == Reservation(input=INPUT, output=200)
    assert TurnBudget(INPUT + 500).reserve(call(wanted=900)) == Reservation(
        input=INPUT, output=500, is_lowered=True
    )
    assert TurnBudget(INPUT + 500).reserve(call()) == Reservation(
        input=INPUT, output=500, is_lowered=True
    )


def test_g5_calls_without_a_cap_share_a_large_budget():
    """G5: the first one doesn't reserve all of it."""
    budget = TurnBudget(1_000_000)

    first, second = budget.reserve(call()), budget.reserve(call())

    assert first == second == Reservation(input=INPUT, output=LONGEST_REPLY)


def test_g5_a_call_waits_for_those_under_way_if_it_may_fit_then():
    budget = TurnBudget(2 * INPUT + 500)
    first = call()
    reserved = budget.reserve(first)

    assert budget.reserve(call()) is Denied.WAIT
    budget.settle(first, reserved, CallUsage(input=1000, output=50))
    assert isinstance(budget.reserve(call()), Reservation)


def test_g5_a_call_that_can_never_fit_is_refused():
    assert TurnBudget(INPUT + MIN_OUTPUT - 1).reserve(call()) is Denied.OVER


def test_g5_a_call_that_was_not_made_costs_nothing():
    budget = TurnBudget(INPUT + 500)
    reserved = budget.reserve(call())
    budget.settle(call(), reserved, None)

    assert (budget.used, budget.reserved) == (0, 0)


def test_g5_a_dense_body_raises_what_is_expected_of_the_next_one():
    budget = TurnBudget(None)
    reserved = budget.reserve(call())
    budget.settle(call(), reserved, CallUsage(input=2000 + HIDDEN_TOKENS, output=1))

    assert budget.input_of(3000) == 2000 + HIDDEN_TOKENS


def test_g5_without_a_limit_calls_are_counted():
    budget = TurnBudget(None)
    reserved = budget.reserve(call(wanted=10))
    budget.settle(call(wanted=10), reserved, CallUsage(input=5, output=6))

    assert (reserved.output, budget.used) == (None, 11)


ABSURD = st.sampled_from([None, 0, -5, 10**7, 10**12])
STEPS = st.tuples(
    st.sampled_from(["start", "end"]),
    st.integers(60, 60_000),  # the body's size
    st.none() | st.integers(1, 40_000),  # the cap that the client sends
    st.integers(1, 30),  # bytes for each true token of the input
    st.integers(0, 60_000),  # tokens that the model would like to write
    st.sampled_from(["true", "missing", "absurd", "cut"]),
    ABSURD,
    st.integers(0, 9),
)


@settings(max_examples=short(10_000, 100))
@given(st.integers(1, 200_000), st.lists(STEPS, max_size=30))
def test_g5_what_is_charged_never_passes_the_budget(limit, steps):
    """G5, K5: with parallel calls, missing and absurd usage, and cut streams."""
    budget, under_way, spent = TurnBudget(limit), [], 0
    for kind, size, wanted, density, wish, report, absurd, which in steps:
        if kind == "start":
            asked = call(size, wanted)
            reserved = budget.reserve(asked)
            if isinstance(reserved, Reservation):
                bytes_per_token = max(3, density)
                truth = (size // bytes_per_token, min(wish, reserved.output))
                under_way.append((asked, reserved, truth, report, absurd))
        elif under_way:
            asked, reserved, (total, output), report, absurd = under_way.pop(which % len(under_way))
            reported = {
                "true": Reported(input=total, output=output),
                "missing": Reported(),
                "absurd": Reported(input=as_count(absurd), output=as_count(absurd)),
                "cut": Reported(input=total, output=1),
            }[report]
            charged = usage_of(reported, reserved, asked, chars=output * 3)
            budget.settle(asked, reserved, charged)
            spent += total + output if report == "true" else 0
        assert budget.used + budget.reserved <= limit
        assert spent <= budget.used, "what was reported in earnest is charged in full"
