"""A form that an agent wants filled in: its fields as questions, and their answers in its terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec.structs import replace

from allstop.adapters.agents.acp.messages import Choice, Field, Form, ToolCall
from allstop.adapters.agents.rpc_messages import RequestId
from allstop.core.asks import Answer, Ask, Option, Question
from allstop.core.text import last_chars, one_line

TEXT_CHARS = 4000
LABEL_CHARS = 200
MOST_OPTIONS = 20
MOST_FIELDS = 20
OWN_WORDS = "_custom"
"""Agents put a field of this name beside a choice, for an answer that is none of it."""

DECLINED = {"action": "decline"}
"""Nobody answers: the agent goes on without."""
GIVEN_UP = {"action": "cancel"}
"""The question is no longer wanted, or the turn is over."""

HOW_LONG = "persist"
"""A field of this name is for how long leave is given."""

_YES, _NO = "Yes", "No"
Value: TypeAlias = str | int | float | bool | list[str]


def ask_of(request: RequestId, form: Form) -> Ask | None:
    """The questions for people; None for what is no form, or none that anybody would fill in."""
    asked = _asked(form)
    if form.mode != "form" or not 0 < len(asked) <= MOST_FIELDS:
        return None
    questions = tuple(_question(form, field, len(asked)) for field in asked.values())
    text = last_chars(form.message, TEXT_CHARS)
    return Ask(id=f"form:{request}", kind="question", text=text, questions=questions)


def answer_to(form: Form, told: Answer) -> dict[str, object]:
    """All that was asked, or a clean no: what does not fit a field is not made to."""
    asked = _asked(form)
    if not told.allows or len(told.answers) != len(asked):
        return dict(DECLINED)
    content: dict[str, Value] = {}
    for (name, field), said in zip(asked.items(), told.answers, strict=True):
        value = _value(field, said)
        if value is not None:
            content[name] = value
        elif f"{name}{OWN_WORDS}" in form.fields:
            content[f"{name}{OWN_WORDS}"] = said
        else:
            return dict(DECLINED)
    return {"action": "accept", "content": content}


def is_leave(form: Form) -> bool:
    """Whether it asks if a tool may be used, as codex does: that is no question to be answered."""
    meta = form.meta if isinstance(form.meta, dict) else {}
    return form.mode == "form" and "codex_approval_kind" in meta


def call_in(form: Form, known: ToolCall) -> ToolCall:
    """What leave is wanted for, by what was told of it before."""
    return replace(known, tool_call_id=form.tool_call_id, title=form.message or known.title)


def leave_to(form: Form, told: Answer) -> dict[str, object]:
    """For this one time."""
    if not told.allows:
        return dict(DECLINED)
    return {"action": "accept", "content": {HOW_LONG: "once"} if HOW_LONG in form.fields else {}}


def _asked(form: Form) -> Mapping[str, Field]:
    """Without those that are only there for own words: any words do for any question."""
    fields = form.fields
    return {
        name: field
        for name, field in fields.items()
        if not (name.endswith(OWN_WORDS) and name.removesuffix(OWN_WORDS) in fields)
    }


def _question(form: Form, field: Field, fields: int) -> Question:
    named = field.description or field.title or ""
    text = form.message if fields == 1 else named
    options = tuple(
        Option(
            label=one_line(choice.label, LABEL_CHARS),
            text=last_chars(choice.description or "", TEXT_CHARS),
        )
        for choice in _choices(field)[:MOST_OPTIONS]
    )
    return Question(text=last_chars(text or form.message, TEXT_CHARS), options=options)


def _choices(field: Field) -> tuple[Choice, ...]:
    if field.type == "boolean":
        return (Choice(const=_YES), Choice(const=_NO))
    holder = field.items if field.type == "array" and field.items else field
    titled = holder.one_of or holder.any_of
    return titled or tuple(Choice(const=each) for each in holder.enum or ())


def _value(field: Field, said: str) -> Value | None:
    """None where the words are no value of this field."""
    by_label = {one_line(choice.label, LABEL_CHARS): choice.const for choice in _choices(field)}
    match field.type:
        case "boolean":
            return {_YES: True, _NO: False}.get(said)
        case "integer" | "number":
            return _number(field.type, said)
        case "array":
            chosen = [by_label.get(part.strip()) for part in said.split(",")]
            return [each for each in chosen if each is not None] if all(chosen) else None
        case "string":
            return by_label.get(said) if by_label else said
        case _:
            return None


def _number(kind: str, said: str) -> int | float | None:
    try:
        return int(said) if kind == "integer" else float(said)
    except ValueError:
        return None
