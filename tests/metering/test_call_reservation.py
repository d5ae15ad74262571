"""G5: how much of a budget is set aside for a call, and what it is charged."""

from allstop.metering.call_reservation import (
    HIDDEN_TOKENS,
    LONGEST_REPLY,
    USEFUL_REPLY,
    CallEstimates,
    Reservation,
)
from allstop.metering.request_body import MIN_OUTPUT, ModelCall
from allstop.metering.usage import CallUsage
from allstop.metering.wire_formats import WireFormat

INPUT = 1000 + HIDDEN_TOKENS
"""What is expected of 3000 bytes."""


def call(size=3000, wanted=None):
    return ModelCall(
        wire=WireFormat.CHAT, model="m", is_stream=True, wanted=wanted, size=size, body={}
    )


def cost(total, output):
    return 2 * total + 10 * output


def plan(tokens, microusd=None, wanted=None):
    return CallEstimates().plan(call(wanted=wanted), tokens, microusd, cost)


def test_g5_a_call_gets_what_is_left_or_what_it_wants():
    assert plan(INPUT + 500, wanted=200).output == 200
    for wanted in (900, None):
        planned = plan(INPUT + 500, wanted=wanted)
        assert (planned.input, planned.output, planned.is_lowered) == (INPUT, 500, True)


def test_g5_a_cap_that_a_retry_raises_is_lowered_again():
    """G5: some agents ask again with a larger cap after a reply was cut off."""
    caps = [plan(INPUT + 500, wanted=wanted).output for wanted in (400, 32_000, 64_000, 10**9)]

    assert caps == [400, 500, 500, 500]


def test_g5_calls_without_a_cap_share_a_large_budget():
    """G5: the first one doesn't reserve all of it."""
    planned = plan(1_000_000)

    assert (planned.output, planned.is_lowered) == (LONGEST_REPLY, False)


def test_g5_without_a_budget_no_cap_is_sent():
    assert plan(None) == Reservation(input=INPUT, output=None)


def test_g5_a_call_that_does_not_fit_has_no_plan():
    assert plan(INPUT + MIN_OUTPUT - 1) is None
    assert plan(None, cost(INPUT, MIN_OUTPUT) - 1) is None


def test_g5_the_reply_gets_the_money_that_the_input_leaves():
    planned = plan(None, cost(INPUT, 300) + 9)

    assert (planned.output, planned.cost_microusd) == (300, cost(INPUT, 300))
    assert plan(INPUT + 200, cost(INPUT, 300)).output == 200, "the stricter limit decides"


def beside_others(tokens, wanted=None):
    return CallEstimates().plan(call(wanted=wanted), tokens, None, cost, is_alone=False)


def test_g5_beside_others_a_call_needs_room_for_the_most_that_its_body_can_have():
    """G5: a body may have a token for each byte, and all calls under way may be such."""
    most = 3000 + HIDDEN_TOKENS

    assert beside_others(most + 199, wanted=200) is None, "it waits for the others"
    planned = beside_others(most + 200, wanted=200)
    assert (planned.input, planned.tokens, planned.is_lowered) == (INPUT, most + 200, False)
    assert plan(most + 199, wanted=200).tokens == INPUT + 200, "alone, it is made now"


def test_g5_beside_others_a_call_takes_a_useful_part_of_its_cap():
    most = 3000 + HIDDEN_TOKENS

    assert beside_others(most + USEFUL_REPLY - 1) is None
    assert beside_others(most + USEFUL_REPLY).output == USEFUL_REPLY


def test_g5_what_the_provider_adds_says_nothing_of_the_next_body():
    estimates = CallEstimates()
    estimates.learn(call(), CallUsage(input=50_000, output=1))

    assert estimates.input_of(3000) == INPUT


def test_g5_a_dense_body_raises_what_is_expected_of_the_next_one():
    estimates = CallEstimates()
    estimates.learn(call(), CallUsage(input=2000 + HIDDEN_TOKENS, output=1))

    assert estimates.input_of(3000) == 2000 + HIDDEN_TOKENS
