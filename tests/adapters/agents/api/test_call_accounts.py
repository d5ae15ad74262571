"""G5, K5: models by API use the same meter as agents behind the gateway, without a box."""

import anyio
from msgspec.structs import replace

from allstop.core.budget import Cap
from allstop.core.moves import FailureKind, TurnDone
from allstop.engine.budgets import Budgets
from allstop.engine.call_account import TurnAccount
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Fault, Say, model_server


def within(tokens, name="t"):
    budgets = Budgets()
    budgets.open("all", Cap(tokens=tokens))
    budgets.open(f"all/{name}", Cap())
    return budgets


def asked(budgets, name="t"):
    return replace(turn(None), account=TurnAccount(f"all/{name}", budgets))


CAPS = ("max_output_tokens", "max_tokens", "max_completion_tokens")


def obedient(asked):
    """A reply of 600 tokens, or of as many as the request allows."""
    cap = min(asked.body[name] for name in CAPS if name in asked.body)
    return Say(text="Hi", input=10, output=min(600, cap))


async def test_k5_four_models_at_once_never_pass_their_common_budget(connector):
    """K5, X11: each call is reserved before it is made, in every budget above its run."""
    budgets, results = within(3_000), []
    for number in range(4):
        budgets.open(f"all/{number}", Cap())

    async with model_server(obedient) as server:
        agent = connector.at(server)

        async def talk(name):
            for _ in range(3):
                asks = asked(budgets, name)
                result = await agent.take_turn(asks, RecordingWatch())
                results.append(result)

        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(talk, str(number))
        await agent.close()

    used = sum(result.usage.tokens for result in results if result.call is not None)
    refused = [result.kind for result in results if result.call is None]
    assert 1_200 < used <= 3_000
    assert set(refused) == {FailureKind.OUT_OF_BUDGET}
    assert len(server.requests) == len(results) - len(refused)


async def test_g5_a_reply_that_a_budget_cuts_is_recorded_as_cut(connector):
    """G5: the failed turn has the call, and people see why it ended."""
    cut = Say(text="Hi", input=10, output=50, fault=Fault.TRUNCATED)
    async with model_server([cut]) as server:
        agent = connector.at(server)
        limited = await agent.take_turn(asked(within(1_000)), RecordingWatch())
        free = await agent.take_turn(turn(None), RecordingWatch())
        await agent.close()

    assert not isinstance(limited, TurnDone)
    assert (limited.call.cut, free.call.cut) == (True, False)
