"""What is kept of the things Claude Code has done in a turn."""

from __future__ import annotations

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


def begun(used: Block) -> str:
    """A tool that is being used, in one line."""
    given = used.input or {}
    about = given.get("command") or given.get("file_path") or given.get("description") or ""
    return one_line(f"{used.name} {about}")


def done(used: Block, came: Block) -> Item | None:
    """A tool that was used, and what came of it."""
    given = used.input or {}
    output = last_chars(words(came.content).strip(), OUTPUT_CHARS)
    failed = " (failed)" if came.is_error else ""
    if used.name == "Bash":
        return Item(kind="command", text=f"{given.get('command', '')}{failed}\n{output}".strip())
    if used.name in EDITS:
        path = given.get("file_path") or given.get("notebook_path") or ""
        return Item(kind="file", text=f"{path}{failed}" + (f"\n{output}" if failed else ""))
    if used.name in _PLANS:
        return Item(kind="plan", text=_plan(given))
    if used.name == REPLY_TOOL and not failed:
        return None  # it is the reply itself
    if used.name.startswith(tools.PREFIX) and not failed:
        return None  # what it said there is an item already
    if used.name == QUESTION:
        return Item(kind="question", text=output)
    shown = one_line(json.dumps(given, ensure_ascii=False), 300)
    return Item(kind="tool", text=f"{used.name} {shown}{failed}")


def _plan(given: dict[str, Any]) -> str:
    todos = given.get("todos")
    if isinstance(todos, list):
        steps = [each for each in todos if isinstance(each, dict)]
        lines = [f"[{each.get('status', '')}] {each.get('content', '')}" for each in steps]
        return last_chars("\n".join(lines), OUTPUT_CHARS)
    return last_chars(str(given.get("plan") or json.dumps(given, ensure_ascii=False)), OUTPUT_CHARS)


def words(content: Any) -> str:
    """What a tool has said."""
    if isinstance(content, list):
        return "\n".join(str(each.get("text", "")) for each in content if isinstance(each, dict))
    return "" if content is None else str(content)
