"""G4, G5: the gateway's own answers, in words and forms that make clients stop."""

import json
import re

from allstop.metering.refusals import Refusal, answer
from allstop.metering.wire_formats import Provider
from support.cases import for_each

WORDS = re.compile(r"exhaust|quota|rate.?limit|overload|billing", re.IGNORECASE)


@for_each(("provider", "refusal"), lambda: [(p, r) for p in Provider for r in Refusal])
def test_g5_no_answer_has_a_word_of_a_vendor_on_which_clients_try_again(provider, refusal):
    given = answer(provider, refusal, "the budget of this turn is used up")

    assert given.status == refusal.value
    assert not WORDS.search(given.body.decode())
    assert ("x-should-retry", "false") in given.headers
    assert "the budget of this turn is used up" in json.dumps(json.loads(given.body))


def test_g4_the_statuses_are_those_that_clients_give_up_on():
    assert [Refusal.OVER_BUDGET.value, Refusal.TURN_OVER.value, Refusal.NO_UPGRADE.value] == [
        402,
        410,
        426,
    ]


def test_g6_a_short_wait_is_announced():
    given = answer(Provider.OPENAI, Refusal.HELD, "wait", retry_after_s=2)

    assert ("retry-after", "2") in given.headers
    assert "x-should-retry" not in dict(given.headers)


def test_each_provider_gets_its_own_form():
    bodies = [json.loads(answer(p, Refusal.OVER_BUDGET, "no").body) for p in Provider]

    assert [set(body) for body in bodies] == [{"error"}, {"type", "error"}, {"error"}]
    assert bodies[2]["error"]["code"] == 402
