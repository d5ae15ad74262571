"""What an agent has done with its tools, in the words of the record."""

from __future__ import annotations

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
"""Longer texts are not compared: that takes time with the square of their length."""

EDITS = frozenset({"edit", "delete", "move"})
_MARKS = {"completed": "x", "in_progress": ">"}


def merged(known: ToolCall, told: ToolCall) -> ToolCall:
    """All that is known of it by now."""
    fields = ToolCall.__struct_fields__
    return replace(known, **{k: v for k in fields if (v := getattr(told, k)) is not None})


def done(call: ToolCall) -> Item:
    """A tool that was used, and what came of it."""
    mark = f"[{call.status}]"
    if call.kind == "execute":
        line = command_of(call) or call.title or ""
        text = "\n".join(filter(None, (f"$ {line}", _output(call), mark)))
        return Item(kind="command", text=last_chars(text, ITEM_CHARS))
    if call.kind in EDITS:
        what = diff_of(call) or "\n".join(paths_of(call)) or call.title or ""
        return Item(kind="file", text=last_chars(f"{what.rstrip()}\n{mark}", ITEM_CHARS))
    return Item(kind="tool", text=f"{one_line(call.title or call.kind or 'a tool', 300)} {mark}")


def plan_of(entries: tuple[PlanEntry, ...]) -> Item:
    lines = (f"[{_MARKS.get(entry.status, ' ')}] {entry.content}" for entry in entries)
    return Item(kind="plan", text=last_chars("\n".join(lines), ITEM_CHARS))


def command_of(call: ToolCall) -> str:
    """The line it runs, where that is told as such and not only in a title for people."""
    given = call.raw_input if isinstance(call.raw_input, dict) else {}
    command = given.get("command")
    if isinstance(command, list):
        return _out_of_shell([str(word) for word in command])
    return command if isinstance(command, str) else ""


def paths_of(call: ToolCall) -> tuple[str, ...]:
    """The files it changes."""
    named = (str(each.get("path", "")) for each in _content(call) if each.get("type") == "diff")
    places = (place.path for place in call.locations or ())
    return tuple(dict.fromkeys(filter(None, (*named, *places))))


def diff_of(call: ToolCall) -> str:
    changes = (each for each in _content(call) if each.get("type") == "diff")
    return "".join(_unified(each) for each in changes)


def said_in(content: object) -> str:
    """The words of one block."""
    text = content.get("text") if isinstance(content, dict) else None
    return text if isinstance(text, str) else ""


def _content(call: ToolCall) -> Iterator[dict[str, object]]:
    content = call.content if isinstance(call.content, list) else []
    return (each for each in content if isinstance(each, dict))


def _output(call: ToolCall) -> str:
    words = call.raw_output
    if not isinstance(words, str):
        words = "\n".join(said_in(each.get("content")) for each in _content(call))
    return last_chars(words.strip(), OUTPUT_CHARS)


def _unified(change: dict[str, object]) -> str:
    path = str(change.get("path", ""))
    old, new = str(change.get("oldText") or ""), str(change.get("newText") or "")
    if len(old) + len(new) > COMPARED_CHARS:
        return f"--- {path}\n+++ {path}\n[{len(old):,} characters became {len(new):,}]\n"
    lines = unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _out_of_shell(words: list[str]) -> str:
    """The script of `sh -c`; else the words as JSON, which no shell takes for a line."""
    is_shell = len(words) == 3 and words[0].rpartition("/")[2] in ("sh", "bash", "zsh", "dash")
    return words[2] if is_shell and words[1] in ("-c", "-lc") else json.dumps(words)
