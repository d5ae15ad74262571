"""Translates ACP permission requests into asks, and the answers back."""

import json
import shlex

from allstop.adapters.agents.acp.items import call_command, call_diff, call_paths
from allstop.adapters.agents.acp.messages import Permission, ToolCall
from allstop.adapters.agents.rpc_peer import RequestId
from allstop.adapters.agents.simple_command import literal_words
from allstop.core.asks import Answer, Ask
from allstop.core.text import last_chars, one_line

COMMAND_CHARS = 16_000
SHOWN_CHARS = 4000

CANCELLED = {"outcome": {"outcome": "cancelled"}}
"""The answer if the turn is over or no option fits."""

_FOLDERS = ("cwd", "workdir", "directory", "dir_path")
"""Agents' names for the folder in which a command runs."""
_REJECT_KINDS = ("reject_once", "reject_always")


def read_ask(request: RequestId, call: ToolCall, cwd: str) -> Ask:
    """The ask for a person. `cwd` is the folder of the session."""
    name = f"{call.tool_call_id}:{request}"
    if call.kind == "execute" and 0 < len(line := call_command(call)) <= COMMAND_CHARS:
        return _command(name, call, line, cwd)
    if call.kind == "edit" and (paths := call_paths(call)):
        text = "\n".join(filter(None, (call.title, call_diff(call))))
        return Ask(id=name, kind="edit", paths=paths, text=last_chars(text, SHOWN_CHARS))
    arguments = json.dumps(call.raw_input, ensure_ascii=False) if call.raw_input else ""
    text = " ".join(filter(None, (call.title or call.kind or "a tool", arguments)))
    return Ask(id=name, kind="tool", text=one_line(text, SHOWN_CHARS))


def write_answer(wanted: Permission, answer: Answer) -> dict[str, object]:
    """The answer to the agent, for this one time; ACP answers carry no text.

    Lasting permissions are never given, because the rules can't judge their scope.
    """
    kinds = ("allow_once",) if answer.allows else _REJECT_KINDS
    by_kind = {option.kind: option.option_id for option in reversed(wanted.options)}
    chosen = next((by_kind[kind] for kind in (*kinds, *_REJECT_KINDS) if kind in by_kind), None)
    if chosen is None:
        return dict(CANCELLED)
    return {"outcome": {"outcome": "selected", "optionId": chosen}}


def _command(name: str, call: ToolCall, line: str, cwd: str) -> Ask:
    arguments = call.raw_input if isinstance(call.raw_input, dict) else {}
    folder = next((arguments[key] for key in _FOLDERS if arguments.get(key)), cwd)
    if folder != cwd:
        return Ask(id=name, text=f"cd {shlex.quote(str(folder))} && {line}")
    return Ask(id=name, argv=literal_words(line), text=line)
