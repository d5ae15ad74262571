"""Turns of real agents whose model goes silent, under the idle deadline."""

import anyio

from allstop.core.moves import TakeTurn
from allstop.core.prompt import prompt
from allstop.engine.hands import Hands
from allstop.ports import Live
from allstop.testing.agent_contract import RecordingWatch

IDLE_S = 2.0


class AliveUntilAsked:
    """Reports activity until the model gets its request, so that a slow start doesn't count."""

    def __init__(self, agent, server):
        self._agent = agent
        self._server = server
        self.abilities = agent.abilities
        self.close = agent.close

    async def take_turn(self, turn, watch):
        async with anyio.create_task_group() as group:
            group.start_soon(self._stay_awake, watch)
            result = await self._agent.take_turn(turn, watch)
            group.cancel_scope.cancel()
        return result

    async def _stay_awake(self, watch):
        while not self._server.requests:
            watch.live(Live("status", "starts"))
            await anyio.sleep(IDLE_S / 10)


async def result_of(agent, server, launcher):
    """The result of a turn with an idle limit of two seconds."""
    hands = Hands({"agent": AliveUntilAsked(agent, server)}, launcher=launcher)
    move = TakeTurn(agent="agent", prompt=prompt("hello"), idle_s=IDLE_S)
    async with anyio.create_task_group() as group:
        group.start_soon(hands.keep_time)
        result = await hands.perform("run", move, RecordingWatch(), 120)
        group.cancel_scope.cancel()
    return result
