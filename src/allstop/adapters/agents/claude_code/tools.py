"""Our tools as Claude Code knows them: an MCP server behind its own connection."""

from __future__ import annotations

import json

from allstop import __version__
from allstop.adapters.agents.claude_code.messages import Permission
from allstop.adapters.agents.desk import NAME, TOOLS, Desk
from allstop.core.mcp import Call, Message, Server, content, heard

PREFIX = f"mcp__{NAME}__"
WAIT_MS = 7 * 24 * 3600 * 1000
"""How long it waits for one of them: a person may be asked, and the loop keeps the time."""

SERVER = Server(
    version=__version__,
    instructions="Tell the people who gave you this task how it stands, and ask them.",
    tools=list(TOOLS.values()),
)


def arguments() -> tuple[str, ...]:
    servers = {"mcpServers": {NAME: {"type": "sdk", "name": NAME}}}
    allowed = ",".join(PREFIX + name for name in TOOLS)
    return ("--mcp-config", json.dumps(servers), "--allowedTools", allowed)


def said_to(request: Permission) -> Message | Call:
    """What is said to one message, or what must be done first; a note gets an empty answer."""
    return heard(SERVER, request.message) or {"jsonrpc": "2.0", "result": {}}


async def used(desk: Desk, call: Call) -> Message:
    told = await desk.call(call.name, call.arguments)
    return content(call.id, told.text, is_error=told.is_error)
