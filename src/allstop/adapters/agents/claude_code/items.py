"""Converts Claude Code's messages and tool calls to items of the journal."""

import json
from typing import Any

from allstop.adapters.agents.claude_code import tools
from allstop.adapters.agents.claude_code.approvals import EDITS, QUESTION
from allstop.adapters.agents.claude_code.messages import Block
from allstop.core.moves import Item
from allstop.core.text import last_chars, one_line

OUTPUT_CHARS = 2000
MESSAGE_CHARS = 20_000
REPLY_TOOL = "StructuredOutput"
COMPACTION = Item(kind="compaction", text="the conversation was compacted")

_PLANS = frozenset({"ExitPlanMode", "TodoWrite"})


def message(text: str) -> Item:
    return Item(kind="message", text=last_chars(text, MESSAGE_CHARS))


def notice(text: str) -> Item:
    return Item(kind="notice", text=one_line(text, 500))


def describe_call(call: Block) -> str:
    """One line about a tool call that has started."""
    arguments = call.input or {}
    about = (
        arguments.get("command") or arguments.get("file_path") or arguments.get("description") or ""
    )
    return one_line(f"{call.name} {about}")


def tool_item(call: Block, result: Block) -> Item | None:
    """The item of a finished tool call; None if it is recorded elsewhere."""
    arguments = call.input or {}
    output = last_chars(content_text(result.content).strip(), OUTPUT_CHARS)
    failed = " (failed)" if result.is_error else ""
    if call.name == "Bash":
        return Item(
            kind="command", text=f"{arguments.get('command', '')}{failed}\n{output}".strip()
        )
    if call.name in EDITS:
        path = arguments.get("file_path") or arguments.get("notebook_path") or ""
        return Item(kind="file", text=f"{path}{failed}" + (f"\n{output}" if failed else ""))
    if call.name in _PLANS:
        return Item(kind="plan", text=_plan(arguments))
    if call.name == REPLY_TOOL and not failed:
        return None  # the call is the reply itself
    if call.name.startswith(tools.PREFIX) and not failed:
        return None  # the turn's tools record items themselves
    if call.name == QUESTION:
        return Item(kind="question", text=output)
    shown = one_line(json.dumps(arguments, ensure_ascii=False), 300)
    return Item(kind="tool", text=f"{call.name} {shown}{failed}")


def _plan(arguments: dict[str, Any]) -> str:
    todos = arguments.get("todos")
    if isinstance(todos, list):
        steps = [each for each in todos if isinstance(each, dict)]
        lines = [f"[{each.get('status', '')}] {each.get('content', '')}" for each in steps]
        return last_chars("\n".join(lines), OUTPUT_CHARS)
    return last_chars(
        str(arguments.get("plan") or json.dumps(arguments, ensure_ascii=False)), OUTPUT_CHARS
    )


def content_text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(each.get("text", "")) for each in content if isinstance(each, dict))
    return "" if content is None else str(content)
