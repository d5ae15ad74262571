"""Translates Claude Code's permission requests into asks, and the answers back."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from allstop.adapters.agents.claude_code.messages import ControlRequest, Permission
from allstop.adapters.agents.offered_tools import WAIT_MS
from allstop.adapters.agents.simple_command import literal_words
from allstop.core.asks import BOX, Answer, Ask, Option, Question
from allstop.core.text import one_line

QUESTION = "AskUserQuestion"
EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
SHOWN_CHARS = 2000
COMMAND_CHARS = 16_000
LABEL_CHARS = 200
MAX_OPTIONS = 20
DENIED_ADVICE = "Do without it, or say what you need and why."
NO_ANSWER = "Decide for yourself, carefully, and say what you decided."


HOOKS = {
    "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["rules"], "timeout": WAIT_MS // 1000}]
}
"""Claude Code reports every command before it runs, even those that it would not ask for."""


def read_hook(request: ControlRequest) -> Ask:
    """The ask for a command that a hook reports."""
    hook = request.request.input
    arguments = hook.get("tool_input")
    tool = Permission(
        tool_name=str(hook.get("tool_name")), input=arguments if isinstance(arguments, dict) else {}
    )
    return replace(read_ask(replace(request, request=tool)), within=True)


def write_hook_answer(answer: Answer) -> Mapping[str, Any]:
    """The hook's decision; none if no rule matched, so that Claude Code decides as usual."""
    if answer.by == BOX:
        return {}
    is_denied = not answer.allows
    why = " ".join(filter(None, ("Denied.", answer.message, DENIED_ADVICE))) if is_denied else ""
    decision = {
        "permissionDecision": "deny" if is_denied else "allow",
        "permissionDecisionReason": why,
    }
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


def read_ask(request: ControlRequest) -> Ask:
    name, arguments = request.request.tool_name, request.request.input
    command = str(arguments.get("command", ""))
    if name == "Bash" and len(command) <= COMMAND_CHARS:  # rules can't judge a part of one
        return Ask(id=request.request_id, argv=literal_words(command), text=command)
    if name in EDITS:
        path = str(arguments.get("file_path") or arguments.get("notebook_path") or "")
        text = _edit(name, path, arguments)
        return Ask(id=request.request_id, kind="edit", paths=(path,), text=text)
    if name == QUESTION:
        return _question(request.request_id, arguments)
    text = f"{name} {json.dumps(arguments, ensure_ascii=False)}"
    return Ask(id=request.request_id, kind="tool", text=text[:SHOWN_CHARS])


def write_answer(request: ControlRequest, answer: Answer) -> Mapping[str, Any]:
    """Claude Code's answer. A session-wide permission counts once: its own rules would be wider."""
    arguments = request.request.input
    is_question = request.request.tool_name == QUESTION
    if not answer.allows:
        advice = NO_ANSWER if is_question else DENIED_ADVICE
        return {
            "behavior": "deny",
            "message": " ".join(filter(None, ("Denied.", answer.message, advice))),
        }
    if is_question:
        texts = [each["question"] for each in _questions(arguments)]
        answers = dict(zip(texts, answer.answers_to(len(texts), NO_ANSWER), strict=True))
        arguments = {**arguments, "answers": answers}
    return {"behavior": "allow", "updatedInput": arguments}


def _edit(name: str, path: str, arguments: Mapping[str, Any]) -> str:
    change = str(arguments.get("new_string") or arguments.get("content") or "")
    return f"{name} {one_line(path, 500)}\n{change}"[:SHOWN_CHARS].rstrip()


def _question(name: str, arguments: Mapping[str, Any]) -> Ask:
    questions = tuple(map(_question_of, _questions(arguments)))
    text = "\n".join(question.text for question in questions)
    return Ask(id=name, kind="question", text=text, questions=questions)


def _question_of(question: Mapping[str, Any]) -> Question:
    return Question(text=str(question["question"])[:SHOWN_CHARS], options=tuple(_options(question)))


def _options(question: Mapping[str, Any]) -> Iterator[Option]:
    options = question.get("options")
    for each in options[:MAX_OPTIONS] if isinstance(options, list) else ():
        if isinstance(each, dict) and each.get("label"):
            text = str(each.get("description") or "")[:SHOWN_CHARS]
            yield Option(label=one_line(str(each["label"]), LABEL_CHARS), text=text)


def _questions(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    questions = arguments.get("questions")
    if not isinstance(questions, list):
        return []
    return [each for each in questions if isinstance(each, dict) and each.get("question")]
