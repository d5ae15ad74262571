"""Helpers for the tests of ACP agents."""

import sys
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from msgspec.structs import replace

from allstop.adapters.agents.acp import AcpAgent, Setup
from allstop.adapters.agents.turn_socket import TurnSockets
from allstop.adapters.clock import SystemClock
from allstop.adapters.processes.sandbox.box_ownership import hand_over
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.app.agents.acp import DEFAULT_ENV
from allstop.ports import Box
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import ModelServer, model_server
from support.agent_programs import program

KEY = "sk-ant-dummy-key"
PEER = Path(__file__).with_name("fake_agent.py")
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}


CLAUDE = """\
#!/bin/sh
if [ "$1" = auth ]; then
    echo '{{"loggedIn": true, "authMethod": "api_key", "apiProvider": "firstParty"}}'
else
    exec '{claude}' "$@"
fi
"""
"""Starts the real Claude Code, but answers `claude auth status` by itself.

The ACP agent runs that command twice in each turn, for a message that Allstop doesn't read. Each
run would start another Claude Code.
"""


def install(folder: Path) -> Path:
    """Install the real agent on a PATH, with the node and the Claude Code it needs."""
    folder.mkdir(exist_ok=True)
    for name, real in (("claude-agent-acp", "claude-acp"), ("node", "node")):
        if not (folder / name).exists():
            (folder / name).symlink_to(program(real))
    claude = folder / "claude"
    claude.write_text(CLAUDE.format(claude=program("claude")))
    claude.chmod(0o755)
    return folder / "claude-agent-acp"


def readable(folder: Path) -> tuple[str, ...]:
    """What the real agent's box must have besides it, if it was installed in this folder."""
    return str(program("claude")), str(folder / "claude")


def variables(url: str, folder: Path) -> dict[str, str]:
    """The real agent's variables: its model's URL and its Claude Code."""
    own = {"ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_EXECUTABLE": str(folder / "claude")}
    return {**QUIET, **own}


class Bench:
    def __init__(self, launcher, place, tmp_path: Path, open_: AsyncExitStack) -> None:
        self.launcher, self._tmp, self._open = launcher, tmp_path, open_
        self.place = place
        self.work, self.room = Path(place.workspace), tmp_path / "room"
        self.room.mkdir(mode=0o700)
        self.beat = self.work / "beat.txt"
        self.server: ModelServer

    async def agent(self, answers, **more):
        """The real agent with a model that gives these answers."""
        self.server = await self._open.enter_async_context(model_server(answers))
        folder = self._tmp / "bin"
        own = variables(self.server.anthropic_url, folder)
        env, argv = {**DEFAULT_ENV["claude-agent-acp"], **own}, (str(folder / "claude-agent-acp"),)
        return self._made(argv=argv, key=KEY, key_name="ANTHROPIC_API_KEY", env=env, **more)

    def peer(self, scenario, **more):
        """A fake program instead of the agent."""
        for folder in (self.work, self.room):
            (folder / "fake_agent.py").write_bytes(PEER.read_bytes())
            hand_over(folder, this_host())
        argv = (sys.executable, "fake_agent.py", scenario)
        return self._made(argv=argv, **more)

    def at(self, *argv):
        return self._made(argv=argv)

    def _made(self, **fields):
        setup = Setup(**{"fallback_box": Box(home=str(self.room)), **fields})
        sockets = TurnSockets(self._tmp / "desks")
        agent = AcpAgent(setup, launcher=self.launcher, clock=SystemClock(), sockets=sockets)
        self._open.push_async_callback(agent.close)
        return agent

    async def turn(self, agent, watch=None, text="hello", **fields):
        asked = replace(turn(self.place, text), **fields)
        return await agent.take_turn(asked, watch or RecordingWatch(allows=True))

    @property
    def asked_last(self):
        """The last request to the model, without those for a title."""
        return [each for each in self.server.requests if not each.wants_structure][-1]

    async def until_beating(self):
        await until(lambda: self.beat.exists() and self.beat.stat().st_size)

    async def is_beating(self):
        size = self.beat.stat().st_size
        await anyio.sleep(0.3)
        return self.beat.stat().st_size != size


async def until(condition, within_s=60):
    with anyio.fail_after(within_s):
        while not condition():
            await anyio.sleep(0.01)
