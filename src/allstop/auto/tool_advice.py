"""Tool advice: the prompt and the answer format for questions of an agent's tools."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from allstop.auto.structured_output import read
from allstop.core.asks import Ask, Question, match_answers
from allstop.core.prompt import Part, StructuredPrompt
from allstop.core.text import last_chars, one_line

ADVISER = """\
A coding agent works by itself towards a goal, and one of its tools asks questions. Answer them as
the person who set the goal would. Where the goal doesn't say, and a wrong answer would cost much,
be honest: give a low confidence, and a person is asked. You never do the work yourself.
Answer with one JSON object: answers (one for each question, in their order: an option's name, or
your own words), reason (one sentence), confidence (0 to 1)."""


class Advice(Struct, frozen=True, gc=False, kw_only=True):
    """The signature of an answer: what a model answers with."""

    answers: tuple[Annotated[str, Meta(min_length=1, max_length=2000)], ...]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    confidence: Annotated[float, Meta(ge=0, le=1)]


def advice_schema(questions: int) -> dict[str, object]:
    answer = {"type": "string", "minLength": 1, "maxLength": 2000}
    return {
        "type": "object",
        "properties": {
            "answers": {
                "type": "array",
                "items": answer,
                "minItems": questions,
                "maxItems": questions,
            },
            "reason": {"type": "string", "minLength": 1, "maxLength": 500},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["answers", "reason", "confidence"],
        "additionalProperties": False,
    }


def question_talk(ask: Ask, told: str) -> StructuredPrompt:
    """`told` is the agent's prompt of this turn, which contains the goal."""
    return StructuredPrompt(
        system=ADVISER,
        parts=(
            Part(text=f"What the agent was told:\n{last_chars(told, 8000)}"),
            Part(text="\n\n".join(map(_put, ask.questions))),
        ),
        reply_schema=advice_schema(len(ask.questions)),
    )


def _put(question: Question) -> str:
    options = (f"- {option.label}: {option.text}" for option in question.options)
    return "\n".join([f"It asks: {question.text}", *options])


def read_advice(text: str, ask: Ask) -> Advice | str:
    """Parse a model's answer; returns the reason if it is invalid."""
    found = read(text, Advice)
    if isinstance(found, str):
        return found
    answers = match_answers(ask, found.answers)
    if isinstance(answers, str):
        return answers
    return msgspec.structs.replace(found, answers=answers, reason=one_line(found.reason, 500))
