"""G7: model calls are found in the record of the runs."""

from msgspec.structs import replace

from allstop.core.events import MoveStarted, Noted
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import Item, ModelCall, TakeTurn
from allstop.core.prompt import prompt
from allstop.views.model_calls import (
    MOST_MODELS,
    CallLedger,
    CallTotals,
    RecordedCall,
    describe_call,
)
from support.auto_runs import NOON

RUN = RunId("a")
CALL = ModelCall(model="m", status=200, input=1_000, cached=400, output=50, request_id="req_1")
NOTED = Noted(
    at=NOON, id=1, items=(Item(kind="text", text="Hi"), Item(kind="x", text="", call=CALL))
)


def test_g7_a_call_belongs_to_the_agent_whose_turn_made_it():
    ledger = CallLedger()
    started = MoveStarted(at=NOON, id=1, move=TakeTurn(agent=AgentName("cli"), prompt=prompt("x")))

    assert ledger.take(RUN, started) == []
    assert ledger.take(RUN, NOTED) == [
        RecordedCall(at=NOON, run=RUN, agent=AgentName("cli"), call=CALL)
    ]


def test_g7_a_call_whose_turn_began_before_the_first_event_is_not_lost():
    (recorded,) = CallLedger().take(RUN, NOTED)

    assert (recorded.agent, recorded.call) == ("", CALL)


def test_g7_a_call_without_a_known_price_says_so():
    assert "no price" in describe_call(CALL)


def test_g7_however_many_names_an_agent_asks_for_the_sums_stay_few():
    totals = CallTotals()

    for number in range(2 * MOST_MODELS):
        call = replace(CALL, model=f"m{number}", provider="openai")
        totals.take(RUN, Noted(at=NOON, id=1, items=(Item(kind="x", text="", call=call),)))

    assert len(totals.of) == MOST_MODELS + 1
    assert totals.of["", "other"].calls == {200: MOST_MODELS}
    assert sum(total.input for total in totals.of.values()) == 2 * MOST_MODELS * 1_000
