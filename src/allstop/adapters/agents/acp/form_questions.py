"""Translates an agent's form into questions for a person, and the answers back."""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec.structs import replace

from allstop.adapters.agents.acp.messages import Choice, Field, Form, ToolCall
from allstop.adapters.agents.rpc_peer import RequestId
from allstop.core.asks import Answer, Ask, Option, Question
from allstop.core.text import last_chars, one_line

TEXT_CHARS = 4000
LABEL_CHARS = 200
MAX_OPTIONS = 20
MAX_FIELDS = 20
CUSTOM_SUFFIX = "_custom"
"""The suffix of the text field that agents add beside a choice, for other answers."""

DECLINED = {"action": "decline"}
"""Nobody answers; the agent continues without an answer."""
WITHDRAWN = {"action": "cancel"}
"""The agent withdrew the question, or the turn is over."""

PERSIST = "persist"
"""The name of the field for how long a permission lasts."""

_YES, _NO = "Yes", "No"
Value: TypeAlias = str | int | float | bool | list[str]


def read_ask(request: RequestId, form: Form) -> Ask | None:
    """The ask for a person; None if it isn't a form or has too many fields."""
    fields = _asked_fields(form)
    if form.mode != "form" or not 0 < len(fields) <= MAX_FIELDS:
        return None
    questions = tuple(_question(form, field, len(fields)) for field in fields.values())
    text = last_chars(form.message, TEXT_CHARS)
    return Ask(id=f"form:{request}", kind="question", text=text, questions=questions)


def write_answer(form: Form, answer: Answer) -> dict[str, object]:
    """The filled-in form; declined if an answer is missing or doesn't fit its field."""
    fields = _asked_fields(form)
    if not answer.allows or len(answer.answers) != len(fields):
        return dict(DECLINED)
    content: dict[str, Value] = {}
    for (name, field), text in zip(fields.items(), answer.answers, strict=True):
        value = _value(field, text)
        if value is not None:
            content[name] = value
        elif f"{name}{CUSTOM_SUFFIX}" in form.fields:
            content[f"{name}{CUSTOM_SUFFIX}"] = text
        else:
            return dict(DECLINED)
    return {"action": "accept", "content": content}


def is_permission(form: Form) -> bool:
    """Whether the form asks for permission to use a tool, as codex does."""
    meta = form.meta if isinstance(form.meta, dict) else {}
    return form.mode == "form" and "codex_approval_kind" in meta


def requested_call(form: Form, known: ToolCall) -> ToolCall:
    """The tool call that needs permission, with all that is known about it."""
    return replace(known, tool_call_id=form.tool_call_id, title=form.message or known.title)


def write_permission(form: Form, answer: Answer) -> dict[str, object]:
    """The answer to a permission form; a permission counts once."""
    if not answer.allows:
        return dict(DECLINED)
    return {"action": "accept", "content": {PERSIST: "once"} if PERSIST in form.fields else {}}


def _asked_fields(form: Form) -> Mapping[str, Field]:
    """The fields without the text fields beside choices: any question accepts free text."""
    fields = form.fields
    return {
        name: field
        for name, field in fields.items()
        if not (name.endswith(CUSTOM_SUFFIX) and name.removesuffix(CUSTOM_SUFFIX) in fields)
    }


def _question(form: Form, field: Field, fields: int) -> Question:
    label = field.description or field.title or ""
    text = form.message if fields == 1 else label
    options = tuple(
        Option(
            label=one_line(choice.label, LABEL_CHARS),
            text=last_chars(choice.description or "", TEXT_CHARS),
        )
        for choice in _choices(field)[:MAX_OPTIONS]
    )
    return Question(text=last_chars(text or form.message, TEXT_CHARS), options=options)


def _choices(field: Field) -> tuple[Choice, ...]:
    if field.type == "boolean":
        return (Choice(const=_YES), Choice(const=_NO))
    holder = field.items if field.type == "array" and field.items else field
    titled = holder.one_of or holder.any_of
    return titled or tuple(Choice(const=each) for each in holder.enum or ())


def _value(field: Field, text: str) -> Value | None:
    """The field's value for a text; None if it doesn't fit."""
    by_label = {one_line(choice.label, LABEL_CHARS): choice.const for choice in _choices(field)}
    match field.type:
        case "boolean":
            return {_YES: True, _NO: False}.get(text)
        case "integer" | "number":
            return _number(field.type, text)
        case "array":
            chosen = [by_label.get(part.strip()) for part in text.split(",")]
            return [each for each in chosen if each is not None] if all(chosen) else None
        case "string":
            return by_label.get(text) if by_label else text
        case _:
            return None


def _number(kind: str, text: str) -> int | float | None:
    try:
        return int(text) if kind == "integer" else float(text)
    except ValueError:
        return None
