"""Helpers for the tests of Claude Code."""

import json
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from msgspec.structs import replace

from allstop.adapters.agents.claude_code import ClaudeCodeAgent, PermissionMode, Program
from allstop.adapters.clock import SystemClock
from allstop.adapters.processes.sandbox.box_ownership import hand_over
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.ports import Box
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Call, ErrorReply, ModelServer, Say, model_server
from support.agent_programs import program

KEY = "sk-ant-dummy-key"
BEATS = "while :; do echo beat >>beat.txt; sleep 0.05; done"


def bash(command, **more):
    call = Call(name="Bash", arguments={"command": command, "description": "try", **more})
    return Say(text="begun", calls=(call,))


def write(path="/project/made.txt", text="x\n"):
    return Say(calls=(Call(name="Write", arguments={"file_path": path, "content": text}),))


def came_back(asked):
    """The tool results in a request to the model."""
    blocks = [
        block
        for message in asked.body["messages"]
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
    ]
    return [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]


def replies(asked):
    """The number of the model's replies in this conversation."""
    return sum(message["role"] == "assistant" for message in asked.body["messages"])


class Bench:
    def __init__(self, launcher, place, tmp_path: Path, open_: AsyncExitStack) -> None:
        self.launcher, self.place, self._tmp, self._open = launcher, place, tmp_path, open_
        self.work = Path(place.workspace)
        self.beat = self.work / "beat.txt"
        self.server: ModelServer

    async def agent(self, answers, *, permissions=PermissionMode.ASK, env=None, key=KEY, **more):
        self.server = await self._open.enter_async_context(model_server(answers))
        url = self.server.anthropic_url
        return self.agent_at(
            program("claude"), url, permissions=permissions, env=env or {}, key=key, **more
        )

    def agent_at(
        self,
        path,
        url="http://127.0.0.1:9",
        *,
        permissions=PermissionMode.ASK,
        env=None,
        key=KEY,
        ruled=False,
        **more,
    ):
        own = {
            "key": key,
            "base_url": url,
            "env": env or {},
            "permissions": permissions,
            "ruled": ruled,
        }
        made = Program(path=str(path), **own)
        home = self._tmp / "room"
        home.mkdir(mode=0o700, exist_ok=True)
        return ClaudeCodeAgent(
            made,
            launcher=self.launcher,
            clock=SystemClock(),
            fallback_box=Box(home=str(home)),
            **more,
        )

    async def turn(self, agent, watch=None, text="hello", **fields):
        asked = replace(turn(self.place, text), **fields)
        return await agent.take_turn(asked, watch or RecordingWatch(allows=True))

    def stand_in(self, script):
        """A fake program instead of Claude Code."""
        path = self.work / "stand-in"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        self.hand_over()
        return "/project/stand-in"

    def hand_over(self):
        """As root, give the workspace's files to the agent's user."""
        hand_over(self.work, this_host())

    async def until_beating(self):
        with anyio.fail_after(60):
            while not (self.beat.exists() and self.beat.stat().st_size):
                await anyio.sleep(0.01)

    async def is_beating(self):
        size = self.beat.stat().st_size
        await anyio.sleep(0.3)
        return self.beat.stat().st_size != size


def used_up_until(at):
    """The provider's error for an account that is used up."""
    words = f"Claude AI usage limit reached|{at.timestamp():.0f}"
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": words}}
    return Say(error=ErrorReply(429, body))
