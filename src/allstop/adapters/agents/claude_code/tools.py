"""The turn's tools in Claude Code's format: an MCP server on its own connection."""

import json

from allstop.adapters.agents.claude_code.messages import Permission
from allstop.adapters.agents.offered_tools import NAME, SERVER, TOOLS
from allstop.core.mcp import Message, ToolCall, respond

PREFIX = f"mcp__{NAME}__"


def arguments() -> tuple[str, ...]:
    servers = {"mcpServers": {NAME: {"type": "sdk", "name": NAME}}}
    allowed = ",".join(PREFIX + name for name in TOOLS)
    return ("--mcp-config", json.dumps(servers), "--allowedTools", allowed)


def read_request(request: Permission) -> Message | ToolCall:
    """The tool call to run, or the answer; a notification gets an empty answer."""
    return respond(SERVER, request.message) or {"jsonrpc": "2.0", "result": {}}
