"""B7, F5: a real ACP agent uses the turn's tools through an MCP server in its box."""

import json

import pytest
from msgspec.structs import replace

from adapters.agents.acp.test_turn import taken
from adapters.agents.claude_code.launch_claude import bash, came_back
from adapters.agents.tool_calls import ASKED, ASKS, TELLS, hear, offered, use
from allstop.adapters.agents.acp.form_questions import DECLINED
from allstop.adapters.agents.acp.messages import ToolCall
from allstop.adapters.agents.acp.tools import is_turn_tool
from allstop.core.moves import TurnDone
from allstop.core.signals import Signal, SignalClaim
from allstop.testing.agent_contract import RecordingWatch

OURS = {"mcp__allstop__ask", "mcp__allstop__progress", "mcp__allstop__signal"}


def in_order(*steps):
    """The answers in order; requests for a conversation's title get another one."""
    return lambda asked: (
        '{"title": "x"}'
        if asked.wants_structure
        else steps[min(len(came_back(asked)), len(steps) - 1)]
    )


async def test_b7_it_signals_and_tells_how_far_it_is(bench):
    """B7: its calls are items of the turn, and need no permission."""
    await hear(bench, await bench.agent(in_order(*TELLS)))


async def test_b7_it_asks_and_is_answered_in_every_turn_of_a_conversation(bench):
    """B7, F5: a person answers within the turn; each turn has its own socket."""
    agent = await bench.agent(in_order(ASKS, "zebra", ASKS, "zebra"))
    watch = RecordingWatch(allows=True, answers=("Blue",))

    first = await bench.turn(agent, watch)
    agent = await bench.agent(in_order(ASKS, ASKS, "zebra"))
    await bench.turn(agent, watch, thread=first.thread)

    assert watch.asks == [ASKED, ASKED]
    assert "Blue" in came_back(bench.asked_last)[-1]


async def test_b7_a_program_that_it_runs_cannot_use_them(bench):
    """B7: a token admits one client, and no client without it can connect."""
    lines = "allstop mcp signal COMPLETE; echo code $?; ALLSTOP_WORD=x allstop mcp signal COMPLETE"
    agent = await bench.agent(in_order(bash(f"PATH=$PATH:/run/allstop/desk; {lines}"), "zebra"))

    result = await bench.turn(agent, RecordingWatch(allows=True))

    assert "there was no answer\\ncode 1" in came_back(bench.asked_last)[-1]
    assert result.claim.signal is Signal.NONE


async def test_b7_without_a_workspace_there_are_no_tools(bench):
    """B7: without a workspace there is nothing to signal."""
    agent = await bench.agent(in_order("zebra"))

    await bench.turn(agent, RecordingWatch())
    await bench.turn(agent, RecordingWatch(), place=replace(bench.place, workspace=None))

    spoken = [offered(asked) for asked in bench.server.requests if not asked.wants_structure]
    assert spoken == [OURS, set()]


async def test_b7_codex_needs_no_permission_after_it_connected(bench):
    """B7, K18: calls to other servers, even of the same name, need permission as a tool,
    never as a question that a model could answer; and leave never lasts."""
    watch = RecordingWatch(allows=True)

    result = await taken(bench, "tools", watch)

    once = {"action": "accept", "content": {"persist": "once"}}
    assert json.loads(result.text) == [once] * 3
    assert [(ask.kind, ask.text.partition("?")[0]) for ask in watch.asks] == [
        ("tool", "Allow the allstop MCP server to run tool signal"),
        ("tool", "Allow the zebra MCP server to run tool signal"),
    ]


async def test_k18_a_tool_that_is_not_allowed_is_declined(bench):
    """K18: and it is never put as a question."""
    watch = RecordingWatch()

    result = await taken(bench, "tools", watch)

    once = {"action": "accept", "content": {"persist": "once"}}
    assert json.loads(result.text) == [DECLINED, once, DECLINED]


@pytest.mark.parametrize(
    ("name", "kind", "ours"),
    [
        ("mcp__allstop__signal", "other", True),
        ("mcp__allstop__signal", "execute", False),
        ("mcp__evil__signal", "other", False),
        (["mcp__allstop__signal"], "other", False),
    ],
)
def test_b7_only_our_own_tools_are_used_unasked(name, kind, ours):
    """B7, K18: a command with a tool's name is still a command."""
    call = ToolCall(title="mcp__allstop__ask", kind=kind, meta={"claudeCode": {"toolName": name}})

    assert is_turn_tool(call) is ours


async def test_b7_it_has_them_also_where_its_conversation_was_lost(bench):
    """B7: it starts a server for the lost conversation, and another for its replacement."""
    agent = await bench.agent(
        in_order(use("signal", signal="BLOCKED", text="no key"), "That is it.")
    )
    watch = RecordingWatch()

    result = await bench.turn(agent, watch, thread="01234567-89ab-7def-8123-456789abcdef")

    assert isinstance(result, TurnDone), result
    assert result.claim == SignalClaim(signal=Signal.BLOCKED, text="no key")
    assert watch.items[0].text == "the agent did not find the conversation and started a new one"


@pytest.mark.parametrize(
    ("meta", "given", "ours"),
    [
        ({"is_mcp_tool_call": True}, {"server": "allstop", "tool": "ask"}, True),
        ({"is_mcp_tool_call": True}, {"server": "allstop", "tool": ["ask"]}, False),
        ({"is_mcp_tool_call": True}, {"server": "allstop", "tool": "rm"}, False),
        ({"is_mcp_tool_call": True}, {"server": "evil", "tool": "ask"}, False),
        ({"is_mcp_tool_call": True}, "allstop ask", False),
        ({}, {"server": "allstop", "tool": "ask", "command": "rm -rf /"}, False),
        (None, {"server": "allstop", "tool": "ask"}, False),
    ],
)
def test_b7_what_a_model_can_write_makes_no_tool_ours(meta, given, ours):
    """B7, K18: codex's adapter marks MCP tools in its own field."""
    call = ToolCall(title="mcp.allstop.ask", kind="execute", meta=meta, raw_input=given)

    assert is_turn_tool(call) is ours
