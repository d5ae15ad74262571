"""The turn's tools in ACP's format: an MCP server that the agent starts in its box."""

from allstop.adapters.agents.acp.messages import ToolCall
from allstop.adapters.agents.offered_tools import NAME, TOOLS, WAIT_MS
from allstop.adapters.agents.turn_socket import ADMISSION_VARIABLE
from allstop.core.mcp import Message

TIMEOUT_VARIABLES = {"MCP_TOOL_TIMEOUT": str(WAIT_MS)}
"""For Claude Code, which otherwise gives up sooner; other agents ignore it."""

_CLAUDE_NAMES = tuple(f"mcp__{NAME}__{tool}" for tool in TOOLS)


def server(program: str, token: str) -> Message:
    env = [{"name": ADMISSION_VARIABLE, "value": token}]
    return {"name": NAME, "command": program, "args": ["mcp"], "env": env}


def is_turn_tool(call: ToolCall) -> bool:
    """Whether the call is to one of the turn's tools; adapters say so in metadata, not titles."""
    return _is_claude_tool(call) or _is_codex_tool(call)


def _is_codex_tool(call: ToolCall) -> bool:
    """Codex names the tool's server, and marks only tools as such, never commands."""
    meta, arguments = call.meta, call.raw_input
    if not (isinstance(meta, dict) and isinstance(arguments, dict)):
        return False
    is_tool = meta.get("is_mcp_tool_call") is True
    return is_tool and arguments.get("server") == NAME and arguments.get("tool") in tuple(TOOLS)


def _is_claude_tool(call: ToolCall) -> bool:
    """By the whole name and the kind, because a command can have any name."""
    named: object = call.meta
    for name in ("claudeCode", "toolName"):
        named = named.get(name) if isinstance(named, dict) else None
    return named in _CLAUDE_NAMES and call.kind == "other"
