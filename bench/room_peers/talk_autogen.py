"""Two agents in AutoGen's round robin; its state is saved after every turn."""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat

REPLY = "word " * 112


class PersonWithModels(BaseChatAgent):
    def __init__(self, name):
        super().__init__(name, "talks")

    @property
    def produced_message_types(self):
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token):
        return Response(chat_message=TextMessage(content=REPLY, source=self.name))

    async def on_reset(self, cancellation_token):
        pass


async def main(turns, folder):
    team = RoundRobinGroupChat([PersonWithModels("gpt"), PersonWithModels("claude")], max_turns=1)
    file = Path(folder) / "state.json"
    written = 0
    wall, cpu = time.perf_counter(), time.process_time()
    for turn in range(turns):
        await team.run(task="goal" if turn == 0 else None)
        text = json.dumps(await team.save_state())
        written += len(text)
        file.write_text(text)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    figures = {"cpu_ms": cpu / turns * 1e3, "per_s": turns / wall, "kb": written / turns / 1e3}
    print(json.dumps(figures))


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
