"""Finds the line of a value in a JSON text; used only for error messages."""

import json
import re
from typing import TypeAlias

JsonPath: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead from the root to a value."""

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = re.compile(rf"(?P<text>{_STRING})(?P<key>[ \t\n\r]*:)?|(?P<open>[{{\[])|(?P<close>[}}\]])")
_INVALID_NUMBER = re.compile(rf"{_STRING}|(?P<word>NaN|-?Infinity|\d{{4301,}})")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_scan = json.JSONDecoder().raw_decode


def format_path(value_path: JsonPath) -> str:
    """`userStories[3].title`."""
    shown = ""
    for step in value_path:
        match step:
            case int():
                shown += f"[{step}]"
            case str() if _PLAIN_KEY.fullmatch(step):
                shown += f".{step}" if shown else step
            case str():
                shown += f"[{json.dumps(step)}]"
    return shown


def line_of(text: str, value_path: JsonPath) -> int:
    """The line of the value, or of the nearest enclosing value if it doesn't exist."""
    at = _skip(text, 0)
    for step in value_path:
        inner = _inside(text, at, step)
        if inner is None:
            break
        at = inner
    return line_at(text, at)


def line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def find_duplicate_key(text: str) -> tuple[str, int] | None:
    """The first duplicate key, and the line of its second occurrence."""
    seen: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        if token["open"]:
            seen.append(set())
        elif token["close"]:
            seen.pop()
        elif token["key"]:
            key = json.loads(token["text"])
            if key in seen[-1]:
                return key, line_at(text, token.start())
            seen[-1].add(key)
    return None


def find_invalid_number(text: str) -> tuple[str, int]:
    """The first number that the JSON parser accepts but that can't be used, and its line."""
    for token in _INVALID_NUMBER.finditer(text):
        if token["word"]:
            return token["word"], line_at(text, token.start())
    return "a number", 1


def _inside(text: str, at: int, step: str | int) -> int | None:
    if text[at] == "{":
        return _value_of(text, at, step)
    return _element(text, at, step) if text[at] == "[" else None


def _value_of(text: str, at: int, wanted: str | int) -> int | None:
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _scan(text, at)
        at = _skip(text, _skip(text, at) + 1)
        if key == wanted:
            return at
        at = _next(text, at)
    return None


def _element(text: str, at: int, index: str | int) -> int | None:
    at = _skip(text, at + 1)
    here = 0
    while text[at] != "]":
        if here == index:
            return at
        at = _next(text, at)
        here += 1
    return None


def _next(text: str, at: int) -> int:
    """The position after the value that begins here, and after its comma."""
    _, at = _scan(text, at)
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found
    return found.end()
