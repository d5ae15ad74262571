"""One setting changed in the text of a TOML file; every byte outside of it stays as it is."""

from __future__ import annotations

import copy
import math
import re
import tomllib
from collections.abc import Sequence

from msgspec import json

from allstop.core.errors import AllstopError
from allstop.settings.files.toml_lines import Statement, has_comment, statements
from allstop.settings.key_path import Document, KeyPath, dotted, put, table_at, value_at

Names = tuple[str, ...]

_ABSENT = object()
_BLANKS = re.compile(r"[ \t]*")


class NotEditableError(AllstopError):
    """The setting is written in a way that only a person should change."""


def with_value(text: str, path: Names, value: object) -> str:
    """Raises NotEditableError where something else would be lost by it."""
    wanted = copy.deepcopy(tomllib.loads(text))
    try:
        put(wanted, path, value)
    except AssertionError:
        raise _by_hand(path, "a part of its name is no table in the file") from None
    return _checked(_put(text, path, wanted), path, wanted)


def without(text: str, path: Names) -> str:
    """Raises NotEditableError where something else would be lost by it."""
    wanted = copy.deepcopy(tomllib.loads(text))
    if value_at(wanted, path, _ABSENT) is _ABSENT:
        return text
    table_at(wanted, path[:-1]).pop(path[-1])
    return _checked(_removed(text, path, wanted), path, wanted)


def _checked(text: str, path: Names, wanted: Document) -> str:
    """What was made is read again: an edit that says anything else is none."""
    try:
        if _filled(tomllib.loads(text)) == _filled(wanted):
            return text
    except ValueError:
        pass
    raise _by_hand(path, "it is written in a way that can't be changed from here")


def _filled(document: Document) -> Document:
    """Without empty tables: they say nothing, and a dotted key leaves none behind."""
    found: Document = {}
    for name, value in document.items():
        inner = _filled(value) if isinstance(value, dict) else value
        if inner != {}:
            found[name] = inner
    return found


def _by_hand(path: Names, why: str) -> NotEditableError:
    return NotEditableError(f"{dotted(path)}: {why}", "change it in the file itself")


# --- the edits ---


def _put(text: str, path: Names, wanted: Document) -> str:
    found = list(statements(text))
    if around := _around(found, path):
        return _replaced(text, around, path, toml(value_at(wanted, around.path)))
    if value_at(tomllib.loads(text), path, _ABSENT) is not _ABSENT:
        raise _by_hand(path, "it is written as tables of its own")
    return _inserted(text, found, path, toml(value_at(wanted, path)))


def _removed(text: str, path: Names, wanted: Document) -> str:
    around = _around(list(statements(text)), path)
    if around is None:
        raise _by_hand(path, "it is written as tables of its own")
    if around.path != path:
        return _replaced(text, around, path, toml(value_at(wanted, around.path)))
    _refuse_comments(text, around, path)
    start = text.rfind("\n", 0, around.start) + 1
    return text[:start] + text[_line_end(text, around.end) :]


def _around(found: Sequence[Statement], path: Names) -> Statement | None:
    """The key itself, or the key whose inline table it is in."""
    return next(
        (
            each
            for each in found
            if each.value is not None and each.path and each.path == path[: len(each.path)]
        ),
        None,
    )


def _replaced(text: str, statement: Statement, path: Names, value: str) -> str:
    _refuse_comments(text, statement, path)
    start, end = _span(text, statement)
    return text[:start] + value + text[end:]


def _refuse_comments(text: str, statement: Statement, path: Names) -> None:
    start, end = _span(text, statement)
    if has_comment(text[start:end]):
        raise _by_hand(path, "there are comments within its value")


def _span(text: str, statement: Statement) -> tuple[int, int]:
    """Of the value alone, without the blanks around it."""
    assert statement.value is not None, "a table's head has none"
    blanks = _BLANKS.match(text, statement.value)
    start = blanks.end() if blanks else statement.value
    return start, start + len(text[start : statement.end].rstrip())


def _inserted(text: str, found: Sequence[Statement], path: Names, value: str) -> str:
    """After the last key of its table, under the table's head, or in a new table at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    beside = [each for each in found if each.value is not None and each.path[:-1] == path[:-1]]
    heads = [each for each in found if each.value is None and each.path == path[:-1]]
    if not (beside or heads):
        key = f"[{dotted(path[:-1])}]{newline}{dotted(path[-1:])} = {value}{newline}"
        return _ended(text, newline) + (newline if text.strip() else "") + key
    after = beside[-1] if beside else heads[-1]
    place = _line_end(text, after.end)
    line = f"{_indent(text, after)}{dotted(path[len(after.table) :])} = {value}{newline}"
    return _ended(text[:place], newline) + line + text[place:]


def _indent(text: str, statement: Statement) -> str:
    before = text[text.rfind("\n", 0, statement.start) + 1 : statement.start]
    return before if not before.strip() else ""


def _line_end(text: str, position: int) -> int:
    """Behind the newline."""
    found = text.find("\n", position)
    return len(text) if found == -1 else found + 1


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


# --- values ---


def toml(value: object) -> str:
    """A value as TOML, on one line."""
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return _escaped(json.encode(value).decode())
        case list() | tuple():
            return "[" + ", ".join(map(toml, value)) + "]"
        case dict():
            inner = ", ".join(f"{_name(name)} = {toml(each)}" for name, each in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case _:
            raise NotEditableError(
                "TOML has no such value", "give text, a number, a list or a table"
            )


def _name(name: object) -> str:
    path: KeyPath = (str(name),)
    return _escaped(dotted(path))


def _escaped(text: str) -> str:
    """TOML's texts are JSON's, but for DEL."""
    return text.replace("\x7f", "\\u007f")
