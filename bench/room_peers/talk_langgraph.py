"""Two agents that alternate in LangGraph, with its SQLite checkpointer after every turn."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Annotated, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command

REPLY = "word " * 112


class State(TypedDict):
    messages: Annotated[list, add_messages]
    turn: int


def agent(name, other, turns):
    async def speak(state):
        update = {
            "messages": [{"role": "assistant", "content": REPLY, "name": name}],
            "turn": state["turn"] + 1,
        }
        return Command(goto=other if state["turn"] + 1 < turns else "__end__", update=update)

    return speak


async def main(turns, folder):
    graph = StateGraph(State)
    graph.add_node("gpt", agent("gpt", "claude", turns), destinations=("claude", "__end__"))
    graph.add_node("claude", agent("claude", "gpt", turns), destinations=("gpt", "__end__"))
    graph.add_edge(START, "gpt")
    async with AsyncSqliteSaver.from_conn_string(str(Path(folder) / "room.db")) as saver:
        app = graph.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": turns + 10}
        wall, cpu = time.perf_counter(), time.process_time()
        start = {"messages": [{"role": "user", "content": "goal"}], "turn": 0}
        await app.ainvoke(start, config)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    size = sum(file.stat().st_size for file in Path(folder).glob("room.db*"))
    print(
        json.dumps({"cpu_ms": cpu / turns * 1e3, "per_s": turns / wall, "kb": size / turns / 1e3})
    )


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
