"""Finished items in the words of the record."""

from __future__ import annotations

from allstop.adapters.agents.codex.messages import FileChange, Plan, ThreadItem
from allstop.adapters.agents.codex.shell_wrapper import line_of
from allstop.adapters.agents.codex.tools import PREFIX
from allstop.core.moves import Item
from allstop.core.text import last_chars

ITEM_CHARS = 16_000

_MARKS = {"completed": "x", "inProgress": ">"}


def item_of(item: ThreadItem) -> Item | None:
    """None for what is only an echo of the prompt, or nothing that people would miss."""
    match item.type:
        case "agentMessage":
            kind, text = "message", item.text or ""
        case "reasoning":
            kind, text = "reasoning", "\n".join(item.summary)
        case "commandExecution":
            kind, text = "command", _command(item)
        case "fileChange":
            kind, text = "file", f"{changes(item.changes)}\n[{item.status}]"
        case "plan":
            kind, text = "plan", item.text or ""
        case "mcpToolCall" | "dynamicToolCall":
            kind, text = "tool", _tool(item)
        case "webSearch":
            kind, text = "search", item.query or ""
        case "exitedReviewMode":
            kind, text = "review", item.review or ""
        case _:
            return None
    return Item(kind=kind, text=last_chars(text, ITEM_CHARS)) if text.strip() else None


def plan_of(plan: Plan) -> Item:
    lines = (f"[{_MARKS.get(step.status, ' ')}] {step.step}" for step in plan.plan)
    return Item(kind="plan", text=last_chars("\n".join(lines), ITEM_CHARS))


def changes(changed: tuple[FileChange, ...]) -> str:
    return "\n".join(f"{change.path}\n{change.diff}".rstrip() for change in changed)


def _tool(item: ThreadItem) -> str:
    """What is said by a tool of ours is an item already."""
    if item.type == "dynamicToolCall" and (item.tool or "").startswith(PREFIX):
        return ""
    return ".".join(filter(None, (item.server, item.tool)))


def _command(item: ThreadItem) -> str:
    how = f"exit {item.exit_code}" if item.exit_code is not None else str(item.status)
    return "\n".join(
        filter(
            None,
            (
                f"$ {line_of(item.command or '')}",
                (item.aggregated_output or "").rstrip(),
                f"[{how}]",
            ),
        )
    )
