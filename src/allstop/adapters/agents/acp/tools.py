"""Our tools as an agent behind ACP knows them: an MCP server that it starts in its box."""

from __future__ import annotations

from allstop.adapters.agents.acp.messages import ToolCall
from allstop.adapters.agents.turn_socket import ADMISSION_VARIABLE
from allstop.adapters.agents.turn_tools import NAME, TOOLS, WAIT_MS
from allstop.core.mcp import Message

PATIENT = {"MCP_TOOL_TIMEOUT": str(WAIT_MS)}
"""Claude Code gives up sooner; it means nothing to others."""

_OURS = tuple(f"mcp__{NAME}__{tool}" for tool in TOOLS)


def server(program: str, word: str) -> Message:
    env = [{"name": ADMISSION_VARIABLE, "value": word}]
    return {"name": NAME, "command": program, "args": ["mcp"], "env": env}


def is_ours(call: ToolCall) -> bool:
    """By what an adapter says of it in fields of its own; titles can be anything."""
    return _is_claudes(call) or _is_codexs(call)


def _is_codexs(call: ToolCall) -> bool:
    """It says of which server a tool is; of a command it never says that it is a tool."""
    meta, given = call.meta, call.raw_input
    if not (isinstance(meta, dict) and isinstance(given, dict)):
        return False
    is_tool = meta.get("is_mcp_tool_call") is True
    return is_tool and given.get("server") == NAME and given.get("tool") in tuple(TOOLS)


def _is_claudes(call: ToolCall) -> bool:
    """By its whole name; a command can be called anything."""
    named: object = call.meta
    for name in ("claudeCode", "toolName"):
        named = named.get(name) if isinstance(named, dict) else None
    return named in _OURS and call.kind == "other"
