"""Our tools as an agent behind ACP knows them: an MCP server that it starts in its box."""

from __future__ import annotations

from allstop.adapters.agents.acp.messages import ToolCall
from allstop.adapters.agents.desk import NAME, TOOLS, WAIT_MS
from allstop.adapters.agents.door import WORD
from allstop.core.mcp import Message

PATIENT = {"MCP_TOOL_TIMEOUT": str(WAIT_MS)}
"""Claude Code gives up sooner; it means nothing to others."""

_OURS = tuple(f"mcp__{NAME}__{tool}" for tool in TOOLS)


def server(program: str, word: str) -> Message:
    env = [{"name": WORD, "value": word}]
    return {"name": NAME, "command": program, "args": ["mcp"], "env": env}


def is_ours(call: ToolCall) -> bool:
    """By the name that Claude Code behind its adapter gives it; a command can be called anything."""
    named: object = call.meta
    for name in ("claudeCode", "toolName"):
        named = named.get(name) if isinstance(named, dict) else None
    return named in _OURS and call.kind == "other"
