"""What an agent wants leave for, in our words, and the answer in its own."""

from __future__ import annotations

import json
import shlex

from allstop.adapters.agents.acp.items import command_of, diff_of, paths_of
from allstop.adapters.agents.acp.messages import Permission, ToolCall
from allstop.adapters.agents.rpc_messages import RequestId
from allstop.adapters.agents.simple_command import literal_words
from allstop.core.asks import Answer, Ask
from allstop.core.text import last_chars, one_line

COMMAND_CHARS = 16_000
SHOWN_CHARS = 4000

CANCELLED = {"outcome": {"outcome": "cancelled"}}
"""The answer where the turn is over, or where no other fits."""

_FOLDERS = ("cwd", "workdir", "directory", "dir_path")
"""Where a command is to run, by the names that agents have for it."""
_NO = ("reject_once", "reject_always")


def ask_of(request: RequestId, call: ToolCall, cwd: str) -> Ask:
    """The question for people. `cwd` is where the agent is at home."""
    name = f"{call.tool_call_id}:{request}"
    if call.kind == "execute" and 0 < len(line := command_of(call)) <= COMMAND_CHARS:
        return _command(name, call, line, cwd)
    if call.kind == "edit" and (paths := paths_of(call)):
        text = "\n".join(filter(None, (call.title, diff_of(call))))
        return Ask(id=name, kind="edit", paths=paths, text=last_chars(text, SHOWN_CHARS))
    given = json.dumps(call.raw_input, ensure_ascii=False) if call.raw_input else ""
    text = " ".join(filter(None, (call.title or call.kind or "a tool", given)))
    return Ask(id=name, kind="tool", text=one_line(text, SHOWN_CHARS))


def answer_to(wanted: Permission, told: Answer) -> dict[str, object]:
    """For this one time. A leave that lasts is never given: nobody has judged what it covers.

    ACP has no place for words with it.
    """
    kinds = ("allow_once",) if told.allows else _NO
    by_kind = {option.kind: option.option_id for option in reversed(wanted.options)}
    chosen = next((by_kind[kind] for kind in (*kinds, *_NO) if kind in by_kind), None)
    if chosen is None:
        return dict(CANCELLED)
    return {"outcome": {"outcome": "selected", "optionId": chosen}}


def _command(name: str, call: ToolCall, line: str, cwd: str) -> Ask:
    given = call.raw_input if isinstance(call.raw_input, dict) else {}
    place = next((given[key] for key in _FOLDERS if given.get(key)), cwd)
    if place != cwd:
        return Ask(id=name, text=f"cd {shlex.quote(str(place))} && {line}")
    return Ask(id=name, argv=literal_words(line), text=line)
