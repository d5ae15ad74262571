"""B7, F5: the real Claude Code uses the turn's tools signal, progress and ask."""

import json

import pytest

from adapters.agents.claude_code.launch_claude import came_back
from adapters.agents.tool_calls import ASKED, ASKS, TELLS, hear, offered, use
from allstop.adapters.agents.claude_code.tools import PREFIX, SERVER
from allstop.core.signals import Signal
from allstop.testing.agent_contract import RecordingWatch


async def test_b7_it_signals_and_tells_how_far_it_is(bench):
    """B7: its calls are items of the turn, and need no permission."""
    await hear(bench, await bench.agent(TELLS))


async def test_b7_it_asks_and_is_answered(bench):
    """B7, F5: within the turn, by a person, with its options."""
    agent = await bench.agent(lambda asked: "zebra" if came_back(asked) else ASKS)
    watch = RecordingWatch(allows=True, answers=("Blue",))

    await bench.turn(agent, watch)

    assert watch.asks == [ASKED]
    assert "Blue" in came_back(bench.server.requests[-1])[-1]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (use("signal", signal="BLOCKED"), "BLOCKED needs a text"),
        (use("signal", signal="COMPLETE", run="r2"), "run"),
    ],
)
async def test_b7_what_makes_no_sense_is_told_so_and_counts_for_nothing(bench, call, why):
    """B7: there is no argument that names another run."""
    agent = await bench.agent(lambda asked: "zebra" if came_back(asked) else call)

    result = await bench.turn(agent, RecordingWatch())

    assert why in came_back(bench.server.requests[-1])[-1]
    assert result.claim.signal is Signal.NONE


async def test_b7_a_program_of_the_repository_cannot_use_them(bench):
    """B7: the repository's MCP servers and settings are not read."""
    own = {"mcpServers": {"allstop": {"command": "/bin/true"}, "evil": {"command": "/bin/true"}}}
    (bench.work / ".mcp.json").write_text(json.dumps(own))
    bench.hand_over()
    agent = await bench.agent(["zebra", "zebra"])

    await bench.turn(agent, RecordingWatch())
    await bench.turn(agent, RecordingWatch(), place=None)

    ours = {PREFIX + tool["name"] for tool in SERVER.tools}
    at_work, turn_with_talk = map(offered, bench.server.requests)
    assert (at_work, turn_with_talk) == (ours, set())
