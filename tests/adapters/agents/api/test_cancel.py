"""K2, R8, K10: cancelling a call also ends it at the provider."""

import anyio
import pytest

from allstop.adapters.agents.api.http_client import CallLimits
from allstop.core.moves import FailureKind, TurnDone
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Fault, Say, model_server

WAITING = {
    "before its headers": Say(text="zebra", delay_s=60),
    "after its headers": Fault.SILENCE,
    "in the middle of its words": Say(pieces=("begun",) * 100, pause_s=0.05),
}


@pytest.mark.parametrize("answer", WAITING.values(), ids=list(WAITING))
async def test_k2_r8_the_connection_is_closed(connector, answer):
    """K2, R8: the server sees the disconnect at any stage."""
    async with model_server([answer]) as server:
        agent = connector.at(server)
        async with anyio.create_task_group() as group:
            group.start_soon(agent.take_turn, turn(None), RecordingWatch())
            await anyio.sleep(0.15)
            group.cancel_scope.cancel()

        with anyio.fail_after(60):
            await server.left.wait()
        await agent.close()

    assert server.disconnects == 1


async def test_k10_the_agent_goes_on_after_a_cancelled_turn(connector):
    """K10: the next turn works as usual."""
    async with model_server([Fault.SILENCE, "zebra"]) as server:
        agent = connector.at(server)
        with anyio.move_on_after(0.15):
            await agent.take_turn(turn(None), RecordingWatch())
        result = await agent.take_turn(turn(None), RecordingWatch())
        await agent.close()

    assert isinstance(result, TurnDone)


async def test_k12_time_that_is_up_closes_it_too(connector):
    """K12: the call's own time limit."""
    async with model_server([Fault.SILENCE]) as server:
        agent = connector.at(server, limits=CallLimits(total_s=3))
        result = await agent.take_turn(turn(None), RecordingWatch())
        with anyio.fail_after(60):
            await server.left.wait()
        await agent.close()

    assert result.kind is FailureKind.TIMED_OUT
    assert "3 s" in result.message


async def test_q2_many_calls_at_once(connector):
    """Q2: turns of one agent don't wait for each other."""
    results = []
    async with model_server([Say(text="zebra", delay_s=0.2)]) as server:
        agent = connector.at(server)

        async def take():
            results.append(await agent.take_turn(turn(None), RecordingWatch()))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for _ in range(40):
                    group.start_soon(take)
        await agent.close()

    assert [result.text for result in results] == ["zebra"] * 40
