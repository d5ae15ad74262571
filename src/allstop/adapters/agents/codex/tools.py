"""Our tools as codex knows them: functions that its server asks us to carry out."""

from __future__ import annotations

from allstop.adapters.agents.codex.messages import ToolCall
from allstop.adapters.agents.turn_tools import NAME, TOOLS, Told

CALL = "item/tool/call"
PREFIX = f"{NAME}_"


def dynamic_tools() -> list[dict[str, object]]:
    return [{"type": "function", **tool, "name": PREFIX + name} for name, tool in TOOLS.items()]


def tool_of(call: ToolCall) -> str | None:
    """Its name among ours; None where it isn't one of them."""
    name = call.tool.removeprefix(PREFIX)
    return name if call.tool.startswith(PREFIX) and name in TOOLS else None


def answer_of(told: Told) -> dict[str, object]:
    return {
        "contentItems": [{"type": "inputText", "text": told.text}],
        "success": not told.is_error,
    }
