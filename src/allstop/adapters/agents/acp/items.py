"""Converts an ACP agent's tool calls and plans to items of the journal."""

import json
from collections.abc import Iterator
from difflib import unified_diff

from msgspec.structs import replace

from allstop.adapters.agents.acp.messages import PlanEntry, ToolCall
from allstop.core.moves import Item
from allstop.core.text import last_chars, one_line

ITEM_CHARS = 16_000
OUTPUT_CHARS = 2000
COMPARED_CHARS = 200_000
"""Longer texts are not compared: the time grows with the square of their length."""

EDITS = frozenset({"edit", "delete", "move"})
_MARKS = {"completed": "x", "in_progress": ">"}


def merge(known: ToolCall, update: ToolCall) -> ToolCall:
    """The call with the fields that the update sets."""
    fields = ToolCall.__struct_fields__
    return replace(known, **{k: v for k in fields if (v := getattr(update, k)) is not None})


def tool_item(call: ToolCall) -> Item:
    mark = f"[{call.status}]"
    if call.kind == "execute":
        line = call_command(call) or call.title or ""
        text = "\n".join(filter(None, (f"$ {line}", _output(call), mark)))
        return Item(kind="command", text=last_chars(text, ITEM_CHARS))
    if call.kind in EDITS:
        what = call_diff(call) or "\n".join(call_paths(call)) or call.title or ""
        return Item(kind="file", text=last_chars(f"{what.rstrip()}\n{mark}", ITEM_CHARS))
    return Item(kind="tool", text=f"{one_line(call.title or call.kind or 'a tool', 300)} {mark}")


def plan_item(entries: tuple[PlanEntry, ...]) -> Item:
    lines = (f"[{_MARKS.get(entry.status, ' ')}] {entry.content}" for entry in entries)
    return Item(kind="plan", text=last_chars("\n".join(lines), ITEM_CHARS))


def call_command(call: ToolCall) -> str:
    """The command line, if the input contains it; a title is only for people."""
    arguments = call.raw_input if isinstance(call.raw_input, dict) else {}
    command = arguments.get("command")
    if isinstance(command, list):
        return _unwrap_shell([str(word) for word in command])
    return command if isinstance(command, str) else ""


def call_paths(call: ToolCall) -> tuple[str, ...]:
    """The files that the call changes."""
    named = (str(each.get("path", "")) for each in _content(call) if each.get("type") == "diff")
    located = (location.path for location in call.locations or ())
    return tuple(dict.fromkeys(filter(None, (*named, *located))))


def call_diff(call: ToolCall) -> str:
    changes = (each for each in _content(call) if each.get("type") == "diff")
    return "".join(_unified(each) for each in changes)


def block_text(content: object) -> str:
    text = content.get("text") if isinstance(content, dict) else None
    return text if isinstance(text, str) else ""


def _content(call: ToolCall) -> Iterator[dict[str, object]]:
    content = call.content if isinstance(call.content, list) else []
    return (each for each in content if isinstance(each, dict))


def _output(call: ToolCall) -> str:
    text = call.raw_output
    if not isinstance(text, str):
        text = "\n".join(block_text(each.get("content")) for each in _content(call))
    return last_chars(text.strip(), OUTPUT_CHARS)


def _unified(change: dict[str, object]) -> str:
    path = str(change.get("path", ""))
    old, new = str(change.get("oldText") or ""), str(change.get("newText") or "")
    if len(old) + len(new) > COMPARED_CHARS:
        return f"--- {path}\n+++ {path}\n[{len(old):,} characters became {len(new):,}]\n"
    lines = unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _unwrap_shell(text: list[str]) -> str:
    """The script of `sh -c`; else the words as JSON, which no shell accepts as a command."""
    is_shell = len(text) == 3 and text[0].rpartition("/")[2] in ("sh", "bash", "zsh", "dash")
    return text[2] if is_shell and text[1] in ("-c", "-lc") else json.dumps(text)
