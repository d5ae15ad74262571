"""What Claude Code wants leave for, in our words, and the answer in its own."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from allstop.adapters.agents.claude_code.messages import ControlRequest
from allstop.core.approvals import Ask
from allstop.core.plain import one_line

QUESTION = "AskUserQuestion"
EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
SHOWN_CHARS = 2000
COMMAND_CHARS = 16_000
NO = "Denied: nobody allowed this. Do without it, or say what you need and why."
NOBODY = "Denied: nobody answers questions here. Decide yourself and say what you decided."

_SHELL = frozenset("$`*?[]{}~!#;&|<>()\n\r\\")


def asked(wanted: ControlRequest) -> Ask:
    name, given = wanted.request.tool_name, wanted.request.input
    command = str(given.get("command", ""))
    if name == "Bash" and len(command) <= COMMAND_CHARS:  # nobody judges a part of one
        return Ask(id=wanted.request_id, argv=literal_words(command), text=command)
    if name in EDITS:
        path = str(given.get("file_path") or given.get("notebook_path") or "")
        text = _edit(name, path, given)
        return Ask(id=wanted.request_id, kind="edit", paths=(path,), text=text)
    if name == QUESTION:
        return Ask(id=wanted.request_id, kind="question", text=_question(given))
    text = f"{name} {json.dumps(given, ensure_ascii=False)}"
    return Ask(id=wanted.request_id, kind="tool", text=text[:SHOWN_CHARS])


def answer(wanted: ControlRequest, *, allowed: bool) -> Mapping[str, Any]:
    given = wanted.request.input
    is_question = wanted.request.tool_name == QUESTION
    if not allowed:
        return {"behavior": "deny", "message": NOBODY if is_question else NO}
    if is_question:
        given = {**given, "answers": {q["question"]: _first(q) for q in _questions(given)}}
    return {"behavior": "allow", "updatedInput": given}


def literal_words(command: str) -> tuple[str, ...]:
    """The words of one plain command; none where a shell would make anything else of it."""
    if not _SHELL.isdisjoint(command):
        return ()
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    return tuple(words) if words and "=" not in words[0] else ()


def _edit(name: str, path: str, given: Mapping[str, Any]) -> str:
    change = str(given.get("new_string") or given.get("content") or "")
    return f"{name} {one_line(path, 500)}\n{change}"[:SHOWN_CHARS].rstrip()


def _question(given: Mapping[str, Any]) -> str:
    """A person can say yes or no; yes means what is offered first, which is what is advised."""
    return "\n".join(
        f"{question['question']} (yes means: {_first(question)}; offered: {_offered(question)})"
        for question in _questions(given)
    )[:SHOWN_CHARS]


def _questions(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    questions = given.get("questions")
    if not isinstance(questions, list):
        return []
    return [each for each in questions if isinstance(each, dict) and each.get("question")]


def _first(question: Mapping[str, Any]) -> str:
    return next(iter(_labels(question)), "yes")


def _offered(question: Mapping[str, Any]) -> str:
    return ", ".join(_labels(question)) or "yes"


def _labels(question: Mapping[str, Any]) -> list[str]:
    options = question.get("options")
    options = options if isinstance(options, list) else []
    return [str(each["label"]) for each in options if isinstance(each, dict) and each.get("label")]
