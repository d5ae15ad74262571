"""What Claude Code wants leave for, in our words, and the answer in its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from allstop.adapters.agents.claude_code.messages import ControlRequest, Permission
from allstop.adapters.agents.simple_command import literal_words
from allstop.adapters.agents.turn_tools import WAIT_MS
from allstop.core.asks import BOX, Answer, Ask, Option, Question
from allstop.core.text import one_line

QUESTION = "AskUserQuestion"
EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
SHOWN_CHARS = 2000
COMMAND_CHARS = 16_000
LABEL_CHARS = 200
MOST_OPTIONS = 20
WITHOUT = "Do without it, or say what you need and why."
ALONE = "Decide for yourself, carefully, and say what you decided."


HOOKS = {
    "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["rules"], "timeout": WAIT_MS // 1000}]
}
"""Before each command we are told of it, also of those that it would not ask for."""


def shown(wanted: ControlRequest) -> Ask:
    """What a hook is told of."""
    told = wanted.request.input
    given = told.get("tool_input")
    used = Permission(
        tool_name=str(told.get("tool_name")), input=given if isinstance(given, dict) else {}
    )
    return replace(asked(replace(wanted, request=used)), within=True)


def hook_answer(told: Answer) -> Mapping[str, Any]:
    """What no rule speaks of, it may do or ask for as ever."""
    if told.by == BOX:
        return {}
    decision = "allow" if told.allows else "deny"
    why = "" if told.allows else " ".join(filter(None, ("Denied.", told.message, WITHOUT)))
    said = {"permissionDecision": decision, "permissionDecisionReason": why}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}


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
        return _question(wanted.request_id, given)
    text = f"{name} {json.dumps(given, ensure_ascii=False)}"
    return Ask(id=wanted.request_id, kind="tool", text=text[:SHOWN_CHARS])


def answer(wanted: ControlRequest, told: Answer) -> Mapping[str, Any]:
    """Leave for a session is leave for once: what it proposes to remember is wider than that."""
    given = wanted.request.input
    is_question = wanted.request.tool_name == QUESTION
    if not told.allows:
        then = ALONE if is_question else WITHOUT
        return {
            "behavior": "deny",
            "message": " ".join(filter(None, ("Denied.", told.message, then))),
        }
    if is_question:
        asked = [each["question"] for each in _questions(given)]
        answers = dict(zip(asked, told.answers_to(len(asked), ALONE), strict=True))
        given = {**given, "answers": answers}
    return {"behavior": "allow", "updatedInput": given}


def _edit(name: str, path: str, given: Mapping[str, Any]) -> str:
    change = str(given.get("new_string") or given.get("content") or "")
    return f"{name} {one_line(path, 500)}\n{change}"[:SHOWN_CHARS].rstrip()


def _question(name: str, given: Mapping[str, Any]) -> Ask:
    questions = tuple(map(_put, _questions(given)))
    text = "\n".join(question.text for question in questions)
    return Ask(id=name, kind="question", text=text, questions=questions)


def _put(question: Mapping[str, Any]) -> Question:
    return Question(text=str(question["question"])[:SHOWN_CHARS], options=tuple(_options(question)))


def _options(question: Mapping[str, Any]) -> Iterator[Option]:
    options = question.get("options")
    for each in options[:MOST_OPTIONS] if isinstance(options, list) else ():
        if isinstance(each, dict) and each.get("label"):
            text = str(each.get("description") or "")[:SHOWN_CHARS]
            yield Option(label=one_line(str(each["label"]), LABEL_CHARS), text=text)


def _questions(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    questions = given.get("questions")
    if not isinstance(questions, list):
        return []
    return [each for each in questions if isinstance(each, dict) and each.get("question")]
