"""The turn's tools in codex's format: dynamic tools that codex asks its client to run."""

from allstop.adapters.agents.codex.messages import ToolCall
from allstop.adapters.agents.offered_tools import NAME, TOOLS, ToolResult

CALL = "item/tool/call"
PREFIX = f"{NAME}_"


def dynamic_tools() -> list[dict[str, object]]:
    return [{"type": "function", **tool, "name": PREFIX + name} for name, tool in TOOLS.items()]


def tool_name(call: ToolCall) -> str | None:
    """The name of the turn's tool; None for any other tool."""
    name = call.tool.removeprefix(PREFIX)
    return name if call.tool.startswith(PREFIX) and name in TOOLS else None


def write_result(result: ToolResult) -> dict[str, object]:
    return {
        "contentItems": [{"type": "inputText", "text": result.text}],
        "success": not result.is_error,
    }
