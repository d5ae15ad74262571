"""Converts codex's finished items to items of the journal."""

from allstop.adapters.agents.codex.messages import FileChange, Plan, ThreadItem
from allstop.adapters.agents.codex.shell_wrapper import unwrap
from allstop.adapters.agents.codex.tools import PREFIX
from allstop.core.moves import Item
from allstop.core.text import last_chars

ITEM_CHARS = 16_000

_MARKS = {"completed": "x", "inProgress": ">"}


def to_item(item: ThreadItem) -> Item | None:
    """The journal's item; None for an echo of the prompt and other irrelevant types."""
    match item.type:
        case "agentMessage":
            kind, text = "message", item.text or ""
        case "reasoning":
            kind, text = "reasoning", "\n".join(item.summary)
        case "commandExecution":
            kind, text = "command", _command(item)
        case "fileChange":
            kind, text = "file", f"{show_changes(item.changes)}\n[{item.status}]"
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


def plan_item(plan: Plan) -> Item:
    lines = (f"[{_MARKS.get(step.status, ' ')}] {step.step}" for step in plan.plan)
    return Item(kind="plan", text=last_chars("\n".join(lines), ITEM_CHARS))


def show_changes(file_changes: tuple[FileChange, ...]) -> str:
    return "\n".join(f"{change.path}\n{change.diff}".rstrip() for change in file_changes)


def _tool(item: ThreadItem) -> str:
    """The tool's name; "" for the turn's own tools, which record items themselves."""
    if item.type == "dynamicToolCall" and (item.tool or "").startswith(PREFIX):
        return ""
    return ".".join(filter(None, (item.server, item.tool)))


def _command(item: ThreadItem) -> str:
    how = f"exit {item.exit_code}" if item.exit_code is not None else str(item.status)
    output = (item.aggregated_output or "").rstrip()
    return "\n".join(filter(None, (f"$ {unwrap(item.command or '')}", output, f"[{how}]")))
