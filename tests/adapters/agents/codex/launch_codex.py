"""Helpers for the tests of codex: agents and model replies."""

from collections.abc import Callable

import anyio

from allstop.adapters.agents.codex import CodexAgent, Setup
from allstop.adapters.clock import SystemClock
from allstop.ports import Box
from allstop.testing.model_server import Call, ModelServer, Say, model_server
from support.agent_programs import program

KEY = "sk-zebra-0123456789"
BEATS = "while :; do echo beat >>beat.txt; sleep 0.05; done"


class Stage:
    def __init__(self, launcher, home, open_):
        self.launcher = launcher
        self._home = home
        self._open = open_

    async def model(self, answers) -> ModelServer:
        """A model server with these answers, which may depend on a tool's result."""
        return await self._open.enter_async_context(model_server(answers))

    def agent(self, server, **changes) -> CodexAgent:
        return self.agent_at(server.openai_url, **changes)

    def agent_at(self, url, **changes) -> CodexAgent:
        own = {
            "program": str(program("codex")),
            "fallback_box": Box(home=self._home),
            "model": "gpt-5.5",
            "base_url": url,
            "key": KEY,
            "key_name": "ZEBRA_API_KEY",
            "retries": 0,
        }
        made = CodexAgent(
            Setup(**own | changes), name="codex", launcher=self.launcher, clock=SystemClock()
        )
        self._open.push_async_callback(made.close)
        return made

    async def agent_that(self, *answers, **changes) -> CodexAgent:
        return self.agent(await self.model(answers), **changes)


def run(command, **options) -> Say:
    """A reply that runs a command."""
    return Say(text="", calls=(Call(name="exec_command", arguments={"cmd": command, **options}),))


def patch(name, line="new") -> Say:
    """A reply that adds a file."""
    text = f"*** Begin Patch\n*** Add File: {name}\n+{line}\n*** End Patch"
    return Say(text="", calls=(Call(name="apply_patch", text=text),))


def outputs(asked) -> list[str]:
    """The tool results in a request to the model."""
    said = asked.body.get("input", [])
    return [str(each["output"]) for each in said if each.get("type", "").endswith("_output")]


async def until(condition: Callable[[], bool], within_s: float = 60) -> None:
    with anyio.fail_after(within_s):
        while not condition():
            await anyio.sleep(0.01)
