"""Reads a plan's file: Markdown, JSON or YAML, recognised by its name or its first character."""

import re
from enum import StrEnum

from allstop.plans import document, json_values, markdown_plan, yaml_values
from allstop.plans.plan import Plan, PlanReading, Problem

LARGEST_BYTES = 5_000_000
MOST_STEPS = 10_000

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Format(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"
    YAML = "yaml"


ENDINGS = {
    "md": Format.MARKDOWN,
    "markdown": Format.MARKDOWN,
    "json": Format.JSON,
    "yaml": Format.YAML,
    "yml": Format.YAML,
}


def ending_of(kind: Format) -> str:
    """The usual ending of a file's name in this format."""
    return next(ending for ending, each in ENDINGS.items() if each is kind)


def format_of(name: str, text: str) -> Format:
    ending = name.rpartition(".")[2].lower()
    other = Format.JSON if text.lstrip().startswith("{") else Format.MARKDOWN
    return ENDINGS.get(ending, other)


def read_plan(name: str, data: bytes) -> PlanReading:
    """What was understood of a file, and all problems with their lines."""
    text = text_of(data)
    if isinstance(text, Problem):
        return PlanReading(plan=Plan(), problems=(text,))
    found = _read(format_of(name, text), text)
    count = sum(len(phase.steps) for phase in found.plan.phases)
    if count > MOST_STEPS:
        problem = Problem(
            line=1, problem=f"the plan has {count:,} steps", expected=f"at most {MOST_STEPS:,}"
        )
        return PlanReading(plan=Plan(), problems=(problem,))
    return found


def text_of(data: bytes) -> str | Problem:
    """The text of a file with Unix newlines, or why it can't be the text of a plan."""
    if len(data) > LARGEST_BYTES:
        megabytes = f"at most {LARGEST_BYTES // 1_000_000} MB"
        return Problem(line=1, problem=f"the file has {len(data):,} bytes", expected=megabytes)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        return Problem(line=line, problem=problem, expected="UTF-8")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if control := _CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        problem = f"there is a control character U+{ord(control[0]):04X}"
        return Problem(line=line, problem=problem, expected="text")
    if not text.strip():
        return Problem(line=1, problem="the plan is empty", expected="a phase with a step")
    return text


def _read(kind: Format, text: str) -> PlanReading:
    match kind:
        case Format.MARKDOWN:
            return markdown_plan.read(text)
        case Format.JSON:
            value = json_values.parse(text)
            if isinstance(value, Problem):
                return document.read(None, [value])
            return document.read(value, [])
        case Format.YAML:
            return document.read(*yaml_values.parse(text))
